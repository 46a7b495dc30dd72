"""Programs in the style of Hugging Face's own examples, with models of a few thousand weights and no downloads.

Configurations, tokenizers and sentences are made here. Each program trains when it is called, or returns a `Training`,
and takes the name of a fault. A sentence counts up by some stride, so that a small model can learn to go on with it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
)

from pytest_trainhealth import Training

PAD, EOS, BOS, WORDS = 0, 1, 2, 32
FIRST = 4  # the first word that is none of the above
RATE = 3e-3
STEPS = 60
Batch = dict[str, torch.Tensor]


def llama(kind: Any = LlamaForCausalLM, **more: Any) -> Any:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    special = {"pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": BOS}
    return kind(LlamaConfig(vocab_size=WORDS, max_position_embeddings=64, **{**sizes, **special, **more}))


def gpt2(**more: Any) -> Any:
    special = {"pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": BOS}
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=WORDS, n_embd=32, n_layer=2, n_head=2, n_positions=64, **{**special, **more})
    )


def bert(kind: Any = BertForSequenceClassification, **more: Any) -> Any:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    return kind(BertConfig(vocab_size=WORDS, max_position_embeddings=64, pad_token_id=PAD, **sizes, **more))


def t5() -> Any:
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
    return T5ForConditionalGeneration(
        T5Config(vocab_size=WORDS, pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD, **sizes)
    )


def sentences(count: int, seed: int = 0) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(count):
        start, stride, length = (
            int(torch.randint(*span, (), generator=generator)) for span in ((0, 28), (1, 4), (5, 14))
        )
        made.append([*(FIRST + (start + stride * n) % (WORDS - FIRST) for n in range(length)), EOS])
    return made


def padded(rows: list[list[int]], side: str = "right", filling: int = PAD) -> Batch:
    longest = max(map(len, rows))
    fill = [[filling] * (longest - len(row)) for row in rows]
    ids = torch.tensor([row + f if side == "right" else f + row for row, f in zip(rows, fill, strict=True)])
    real = [[1] * len(row) for row in rows]
    ones = [[0] * len(f) for f in fill]
    mask = torch.tensor([r + o if side == "right" else o + r for r, o in zip(real, ones, strict=True)])
    return {"input_ids": ids, "attention_mask": mask}


def collated(rows: list[list[int]], fault: str = "", side: str = "right", filling: int = PAD) -> Batch:
    """A batch for a causal model, which moves its labels itself."""
    batch = padded(rows, side, filling)
    labels = batch["input_ids"].clone()
    if fault != "padding counted":
        labels[batch["attention_mask"] == 0] = -100
    if fault == "shifted":
        labels = torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], -100)], 1)
    if fault == "inverted":
        batch["attention_mask"] = 1 - batch["attention_mask"]
    if fault == "no mask":
        del batch["attention_mask"]
    return {**batch, "labels": labels}


def batches(
    fault: str = "", side: str = "right", filling: int = PAD, rows: list[list[int]] | None = None
) -> list[Batch]:
    rows = rows or sentences(128)
    return [collated(rows[at : at + 16], fault, side, filling) for at in range(0, 128, 16)]


def classified(fault: str = "", side: str = "right") -> list[Batch]:
    """Does the sentence begin in the upper half of the words?"""
    rows = sentences(128)
    made = []
    for at in range(0, 128, 16):
        some = rows[at : at + 16]
        batch = collated(some, fault, side)
        made.append({**batch, "labels": torch.tensor([int(row[0] >= 18) for row in some])})
    return made


def rate(fault: str) -> float:
    return 100 * RATE if fault == "rate" else RATE


def trained(model: Any, fault: str) -> Any:
    return model.model.parameters() if fault == "left out" else model.parameters()


# -- a model that returns its loss -------------------------------------------------------------------------------------


def raw_returned(fault: str = "") -> Training:
    model = llama()
    optimizer = torch.optim.AdamW(trained(model, fault), rate(fault))
    return Training(model, optimizer, data=batches(fault))


def raw_watched(fault: str = "") -> None:
    model = llama()
    optimizer = torch.optim.AdamW(trained(model, fault), rate(fault))
    data = batches(fault)
    model.train()
    for step in range(STEPS):
        loss = model(**data[step % len(data)]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# -- Trainer -----------------------------------------------------------------------------------------------------------


def arguments(kind: Any = TrainingArguments, **more: Any) -> Any:
    silent = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
    options = {"per_device_train_batch_size": 16, "max_steps": STEPS, "learning_rate": RATE}
    return kind(**{"output_dir": "output", **silent, **options, **more})


def trainer(fault: str = "", **more: Any) -> Trainer:
    model = llama()
    optimizer = torch.optim.AdamW(trained(model, fault), rate(fault))
    return Trainer(
        model=model,
        args=arguments(remove_unused_columns=False, **more),
        train_dataset=sentences(128),
        data_collator=lambda rows: collated(rows, fault),
        optimizers=(optimizer, None) if fault == "left out" else (None, None),
    )


def trainer_returned(fault: str = "", **more: Any) -> Training:
    return Training.from_hf_trainer(trainer(fault, **more))


def trainer_watched(fault: str = "", **more: Any) -> None:
    trainer(fault, **more).train()


# -- TRL ---------------------------------------------------------------------------------------------------------------


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": PAD, "</s>": EOS, "<s>": BOS, "<unk>": 3} | {f"w{n}": n for n in range(FIRST, WORDS)}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "<pad>", "eos_token": "</s>", "bos_token": "<s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


def sft(fault: str = "", peft_config: Any = None, **more: Any) -> Any:
    import datasets
    from trl import SFTConfig, SFTTrainer

    datasets.disable_progress_bars()
    texts = [" ".join(f"w{word}" for word in row[:-1]) for row in sentences(128)]
    model = llama()
    optimizer = torch.optim.AdamW(trained(model, fault), RATE) if fault == "left out" else None
    made = SFTTrainer(
        model=model,
        optimizers=(optimizer, None),
        args=arguments(SFTConfig, bf16=False, **{"learning_rate": rate(fault), **more}),
        train_dataset=datasets.Dataset.from_dict({"text": texts}),
        processing_class=tokenizer(),
        peft_config=peft_config,
    )
    if fault in ("shifted", "padding counted"):
        made.data_collator = lambda rows: collated([list(row["input_ids"]) for row in rows], fault)
    return made


def sft_returned(fault: str = "", **more: Any) -> Training:
    return Training.from_hf_trainer(sft(fault, **more))


def sft_watched(fault: str = "", **more: Any) -> None:
    sft(fault, **more).train()


# -- PEFT --------------------------------------------------------------------------------------------------------------


@cache
def pretrained() -> dict[str, torch.Tensor]:
    """Weights of a model that can count up. Made once, and before anything is watched."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = llama()
        optimizer = torch.optim.AdamW(model.parameters(), RATE)
        data = batches()
        for step in range(150):
            model(**data[step % len(data)]).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return {name: value.clone() for name, value in model.state_dict().items()}


def downwards(fault: str = "") -> list[Batch]:
    """What the adapters have to learn: to count down."""
    return batches(fault, rows=[[*row[-2::-1], EOS] for row in sentences(128, seed=1)])


def adapted(fault: str = "") -> tuple[Any, Any]:
    """A base model with a LoRA in all of its layers, and the optimizer."""
    from peft import LoraConfig, get_peft_model

    base = llama()
    base.load_state_dict(pretrained())
    early = torch.optim.AdamW(base.parameters(), 1e-2) if fault == "optimizer first" else None
    model = get_peft_model(base, LoraConfig(r=8, lora_dropout=0.1, target_modules="all-linear", task_type="CAUSAL_LM"))
    if fault == "eval":
        model.eval()
    return model, early or torch.optim.AdamW(model.parameters(), 1e-2)


def peft_returned(fault: str = "") -> Training:
    model, optimizer = adapted(fault)

    def step(batch: Batch) -> torch.Tensor:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return Training(model, optimizer, step=step, data=downwards(fault))


def peft_watched(fault: str = "") -> None:
    model, optimizer = adapted(fault)
    data = downwards(fault)
    for step in range(STEPS):
        loss = model(**data[step % len(data)]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# -- accelerate --------------------------------------------------------------------------------------------------------


def accelerated(fault: str = "") -> tuple[Any, Any, Any, Any, Any]:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = llama()
    optimizer = torch.optim.AdamW(trained(model, fault), rate(fault))
    loader = DataLoader(sentences(128), batch_size=16, shuffle=True, collate_fn=lambda rows: collated(rows, fault))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    return (accelerator, *accelerator.prepare(model, optimizer, loader, scheduler))


def _accelerated_step(parts: Any, fault: str, batch: Batch) -> torch.Tensor:
    accelerator, model, optimizer, _, scheduler = parts
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        if fault != "no zero_grad":
            optimizer.zero_grad()
    return loss


def accelerate_returned(fault: str = "") -> Training:
    parts = accelerated(fault)
    return Training(parts[1], parts[2], step=lambda batch: _accelerated_step(parts, fault, batch), data=parts[3])


def accelerate_watched(fault: str = "") -> None:
    parts = accelerated(fault)
    parts[1].train()
    for _ in range(STEPS // 8 + 1):
        for batch in parts[3]:
            _accelerated_step(parts, fault, batch)


# -- healthy, but unusual ----------------------------------------------------------------------------------------------


def of(model: Any, data: list[Batch], lr: float = RATE) -> Training:
    return Training(model, torch.optim.AdamW(model.parameters(), lr), data=data)


def end_as_padding() -> Training:
    """The token that ends sentences fills them up, and the model learns to give it again."""
    return of(llama(pad_token_id=EOS), batches("padding counted", filling=EOS))


def encoder_decoder() -> Training:
    """Sentences are repeated; labels are -100 where there is no word."""
    data = []
    for batch in batches():
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        data.append({"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "labels": labels})
    return of(t5(), data)


def masked_words() -> Training:
    generator = torch.Generator().manual_seed(0)
    data = []
    for batch in batches():
        hidden = (torch.rand(batch["input_ids"].shape, generator=generator) < 0.3) & (batch["attention_mask"] == 1)
        ids = batch["input_ids"].masked_fill(hidden, 3)
        data.append({**batch, "input_ids": ids, "labels": batch["input_ids"].masked_fill(~hidden, -100)})
    return of(bert(BertForMaskedLM), data)


def prompt_tuning() -> Training:
    from peft import PromptTuningConfig, get_peft_model

    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=8)
    return of(get_peft_model(llama(), config), batches(), 3e-2)


def last_token() -> Training:
    return of(llama(LlamaForSequenceClassification), classified())


def packed() -> Training:
    """Sentences one after the other, with positions that begin anew, and no padding."""
    stream = [(word, at) for row in sentences(400) for at, word in enumerate(row)]
    data = []
    for begin in range(0, 2048, 256):
        ids, positions = (
            torch.tensor(list(each)).reshape(8, 32) for each in zip(*stream[begin : begin + 256], strict=True)
        )
        data.append({"input_ids": ids, "position_ids": positions, "labels": ids.clone()})
    return of(llama(), data)


def padded_in_front() -> Training:
    return of(gpt2(), batches(side="left"))


def without_a_mask() -> Training:
    """A causal model that is padded at the end never sees its padding."""
    return of(llama(), batches("no mask"))


def two_tables() -> Training:
    """An output layer of its own, as the configuration says."""
    return of(gpt2(tie_word_embeddings=False), batches())


# -- faults of their own kind ------------------------------------------------------------------------------------------


def mask_left_out() -> Training:
    return of(bert(), classified("no mask"))


def mask_left_out_in_front() -> Training:
    return of(llama(), batches("no mask", side="left"))


def mask_inverted() -> Training:
    return of(bert(), classified("inverted"))


def mask_of_ones() -> Training:
    return of(bert(), [{**batch, "attention_mask": torch.ones_like(batch["attention_mask"])} for batch in classified()])


def head_replaced() -> Training:
    """The configuration says that the output layer is the embedding."""
    model = gpt2()
    model.lm_head = torch.nn.Linear(32, WORDS, bias=False)
    return of(model, batches())
