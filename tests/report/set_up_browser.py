"""What the tests of the page in a browser need beside Python packages: Debian's chromium, and axe-core.

    python tests/report/set_up_browser.py FOLDER

puts `axe.min.js` into the folder, where the tests look for it (`AXE_CORE`), and installs chromium and npm where one is
missing, which takes root.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

AXE = "axe-core@4.14.0"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # only what is missing: Debian's npm conflicts with a node that came from elsewhere
    missing = [command for command in ("chromium", "npm") if shutil.which(command) is None]
    if missing:
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *missing], check=True)
    if (folder / "axe.min.js").exists():
        return
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run(["npm", "pack", "--silent", AXE], cwd=temporary, check=True)
        (archive,) = Path(temporary).glob("*.tgz")
        with tarfile.open(archive) as packed:
            script = packed.extractfile("package/axe.min.js")
            assert script is not None
            (folder / "axe.min.js").write_bytes(script.read())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
