"""Architectures of Hugging Face transformers: tiny configurations, random weights, nothing downloaded.

Left out where transformers is not installed (the extra `zoo` brings it), and imported when a program is built, not
when it is collected. The modules are those of an installed package: what a task does not use of them is no fault.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch

from pytest_trainhealth import Training

from . import _dict_batches as data
from . import healthy

SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
WORDS = {"vocab_size": data.VOCAB, **SPECIAL}
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
LONG = {"max_position_embeddings": 64}
TEXT = {**WORDS, **SMALL, **LONG}
CLASSES = {**TEXT, "num_labels": 3}
#: Encoder and decoder, as Bart and its relatives call their sizes.
TWO_SIDED = {
    **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 64 for side in ("encoder", "decoder")},
    **{"d_model": 32, "decoder_start_token_id": 1, "forced_eos_token_id": None},
    **WORDS,
    **LONG,
}
T5_SIZES = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0, **WORDS}
PATCHES = {**SMALL, "image_size": 16, "patch_size": 4, "num_labels": 4}
EARS = {**SMALL, "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "mask_time_prob": 0.0}  # fmt: skip
FEW_HEADS = {"num_key_value_heads": 2}
OLD_NAMES = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}

#: By name: the family's name in transformers, what the model is for, the data, and the configuration.
ARCHITECTURES: dict[str, tuple[str, str, Callable[[], data.Fields], dict[str, Any]]] = {
    # decoders
    "gpt2": ("GPT2", "LMHeadModel", data.next_token, {**WORDS, **OLD_NAMES}),
    "gptj": ("GPTJ", "ForCausalLM", data.next_token, {**WORDS, **OLD_NAMES, "rotary_dim": 4}),
    "codegen": ("CodeGen", "ForCausalLM", data.next_token, {**WORDS, **OLD_NAMES, "rotary_dim": 4, "n_ctx": 64}),
    "gpt_bigcode": ("GPTBigCode", "ForCausalLM", data.next_token, {**WORDS, **OLD_NAMES}),
    "gpt_neo": ("GPTNeo", "ForCausalLM", data.next_token,
                {**WORDS, **LONG, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
                 "attention_types": [[["global", "local"], 1]]}),
    "gpt_neox": ("GPTNeoX", "ForCausalLM", data.next_token, TEXT),
    "llama": ("Llama", "ForCausalLM", data.next_token, TEXT),
    "mistral": ("Mistral", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS}),
    "qwen2": ("Qwen2", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS}),
    "qwen3": ("Qwen3", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS, "head_dim": 8}),
    "gemma": ("Gemma", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS, "head_dim": 8}),
    "gemma2": ("Gemma2", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS, "head_dim": 8}),
    "phi": ("Phi", "ForCausalLM", data.next_token, TEXT),
    "phi3": ("Phi3", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS}),
    "olmo": ("Olmo", "ForCausalLM", data.next_token, TEXT),
    "olmo2": ("Olmo2", "ForCausalLM", data.next_token, TEXT),
    "starcoder2": ("Starcoder2", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS}),
    "stablelm": ("StableLm", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS}),
    "falcon": ("Falcon", "ForCausalLM", data.next_token, TEXT),
    "bloom": ("Bloom", "ForCausalLM", data.next_token, {**WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "mpt": ("Mpt", "ForCausalLM", data.next_token,
            {**WORDS, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    "opt": ("OPT", "ForCausalLM", data.next_token, {**TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32}),
    "granite": ("Granite", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS}),
    # the default of 1/16 for its logits is one for wide models
    "cohere": ("Cohere", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS, "logit_scale": 1.0}),
    "mixtral": ("Mixtral", "ForCausalLM", data.next_token, {**TEXT, **FEW_HEADS, "num_local_experts": 4}),
    "qwen2_moe": ("Qwen2Moe", "ForCausalLM", data.next_token,
                  {**TEXT, **FEW_HEADS, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                   "shared_expert_intermediate_size": 32}),
    "deepseek_v3": ("DeepseekV3", "ForCausalLM", data.next_token,
                    {**TEXT, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
                     "topk_group": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1, "q_lora_rank": 16,
                     "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}),
    "mamba": ("Mamba", "ForCausalLM", data.next_token,
              {**WORDS, "hidden_size": 32, "num_hidden_layers": 1, "state_size": 4}),
    "rwkv": ("Rwkv", "ForCausalLM", data.next_token,
             {**WORDS, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 64}),
    # encoders
    "bert_masked": ("Bert", "ForMaskedLM", data.masked, TEXT),
    "roberta_masked": ("Roberta", "ForMaskedLM", data.masked, TEXT),
    "bert": ("Bert", "ForSequenceClassification", data.sentences, CLASSES),
    "roberta": ("Roberta", "ForSequenceClassification", data.sentences, CLASSES),
    "electra": ("Electra", "ForSequenceClassification", data.sentences, {**CLASSES, "embedding_size": 16}),
    "albert": ("Albert", "ForSequenceClassification", data.sentences, {**CLASSES, "embedding_size": 16}),
    "distilbert": ("DistilBert", "ForSequenceClassification", data.sentences,
                   {**WORDS, **LONG, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "num_labels": 3}),
    "deberta_v2": ("DebertaV2", "ForSequenceClassification", data.sentences,
                   {**CLASSES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "mobilebert": ("MobileBert", "ForSequenceClassification", data.sentences,
                   {**CLASSES, "embedding_size": 32, "intra_bottleneck_size": 32, "true_hidden_size": 32}),
    "squeezebert": ("SqueezeBert", "ForSequenceClassification", data.sentences, {**CLASSES, "embedding_size": 32}),
    "roformer": ("RoFormer", "ForTokenClassification", data.tagged, CLASSES),
    "xlnet": ("XLNet", "ForSequenceClassification", data.sentences,
              {**WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "num_labels": 3}),
    "funnel": ("Funnel", "ForTokenClassification", data.tagged,
               {"vocab_size": data.VOCAB, "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8,
                "d_inner": 64, "num_labels": 3}),
    "longformer": ("Longformer", "ForSequenceClassification", data.sentences, {**CLASSES, "attention_window": 4}),
    "xmod": ("Xmod", "ForTokenClassification", data.tagged, {**CLASSES, "default_language": "en_XX"}),
    # encoder and decoder
    "bart": ("Bart", "ForConditionalGeneration", data.translation, TWO_SIDED),
    "mbart": ("MBart", "ForConditionalGeneration", data.translation, TWO_SIDED),
    "marian": ("Marian", "MTModel", data.translation, TWO_SIDED),
    "pegasus": ("Pegasus", "ForConditionalGeneration", data.translation, TWO_SIDED),
    "m2m100": ("M2M100", "ForConditionalGeneration", data.translation, TWO_SIDED),
    "led": ("LED", "ForConditionalGeneration", data.translation,
            {**TWO_SIDED, "attention_window": 4, "max_encoder_position_embeddings": 64,
             "max_decoder_position_embeddings": 64}),
    "t5": ("T5", "ForConditionalGeneration", data.translation, T5_SIZES),
    "t5_gated": ("T5", "ForConditionalGeneration", data.translation,
                 {**T5_SIZES, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "whisper": ("Whisper", "ForConditionalGeneration", data.spectrograms,
                {**TWO_SIDED, "num_mel_bins": 8, "max_source_positions": 12, "max_target_positions": 16}),
    # pictures, sound, both, and series
    "vit": ("ViT", "ForImageClassification", data.pictures, PATCHES),
    "deit": ("DeiT", "ForImageClassification", data.pictures, PATCHES),
    "beit": ("Beit", "ForImageClassification", data.pictures, PATCHES),
    "vit_mae": ("ViTMAE", "ForPreTraining", data.unlabelled,
                {**PATCHES, "decoder_hidden_size": 32, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 4,
                 "decoder_intermediate_size": 64}),
    "swin": ("Swin", "ForImageClassification", data.pictures,
             {"image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4],
              "window_size": 4, "num_labels": 4}),
    "convnext": ("ConvNext", "ForImageClassification", data.large_pictures,
                 {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "num_labels": 4}),
    "resnet": ("ResNet", "ForImageClassification", data.pictures,
               {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "num_labels": 4}),
    "segformer": ("Segformer", "ForSemanticSegmentation", data.outlined,
                  {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [8, 16],
                   "patch_sizes": [3, 3], "strides": [2, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2],
                   "decoder_hidden_size": 16, "num_labels": 2}),
    "clip": ("CLIP", "Model", data.captioned,
             {"text_config": TEXT, "vision_config": {**SMALL, "image_size": 16, "patch_size": 4},
              "projection_dim": 16}),
    "wav2vec2": ("Wav2Vec2", "ForSequenceClassification", data.tones,
                 {**EARS, "classifier_proj_size": 16, "num_labels": 3}),
    "wav2vec2_ctc": ("Wav2Vec2", "ForCTC", data.spoken,
                     {**EARS, "vocab_size": 8, "pad_token_id": 0, "ctc_loss_reduction": "mean"}),
    "hubert": ("Hubert", "ForSequenceClassification", data.tones,
               {**EARS, "classifier_proj_size": 16, "num_labels": 3}),
    "patchtst": ("PatchTST", "ForPrediction", data.series,
                 {"context_length": 16, "prediction_length": 8, "patch_length": 4, "patch_stride": 4, "d_model": 16,
                  "num_hidden_layers": 1, "num_attention_heads": 2, "ffn_dim": 32}),
}  # fmt: skip


def _program(name: str) -> Callable[[], Training]:
    family, purpose, fields, options = ARCHITECTURES[name]

    def program() -> Training:
        import transformers

        transformers.logging.set_verbosity_error()
        config = getattr(transformers, f"{family}Config")(**options)
        model = getattr(transformers, f"{family}{purpose}")(config)
        model.train()
        # CLIP says its loss only when asked; the others by themselves
        loss = (lambda model, batch: model(**batch, return_loss=True).loss) if name == "clip" else None
        return Training(model, torch.optim.AdamW(model.parameters(), lr=2e-3), loss, data.loader(fields()))

    program.__name__ = program.__qualname__ = f"huggingface_{name}"
    return program


if find_spec("transformers") is not None:
    for each in ARCHITECTURES:
        healthy(_program(each))
