"""Where everything comes together: a subject and a request in, a verdict out, or an answer to another question.

`pipeline` judges; `before_and_after`, `rate_range` and `advising` answer what is asked of a training besides a verdict.
All of them start with the subject as a program (`program_of`) and with a plan for its runs (`plan_of`).
"""

from ..programs.start import NotATraining
from .advising import advised, advised_report
from .before_and_after import compare_trainings
from .pipeline import examine
from .rate_range import learning_rates

__all__ = ["NotATraining", "advised", "advised_report", "compare_trainings", "examine", "learning_rates"]
