"""What calls cost, and token counts where an endpoint does not say them."""

from __future__ import annotations

from oceangym_agent.chat import ChatRequest, ImagePart, TextPart
from oceangym_agent.models.images import image_tokens
from oceangym_agent.models.presets import ModelPreset

# English text in the tokenizers of the presets: Gemini's documentation says about 4 characters a
# token; measured byte-pair encodings give 3.5 to 4.5 for prompts like ours.
BYTES_PER_TOKEN = 4
# Role and separators of one message (OpenAI's counting recipe for chat models: 3 to 4).
MESSAGE_TOKENS = 4


def cost(preset: ModelPreset, *, tokens_in: int, tokens_out: int) -> float:
    """Return the price of a call [USD]; `tokens_out` includes hidden reasoning.

    Discounts for cached input are not applied, so that a cost never depends on what ran before.
    """
    return (tokens_in * preset.price_in + tokens_out * preset.price_out) / 1e6


def text_tokens(text: str) -> int:
    """Return an estimate of a text's tokens."""
    return -(-len(text.encode('utf-8', 'replace')) // BYTES_PER_TOKEN)


def request_tokens(preset: ModelPreset, request: ChatRequest) -> int:
    """Return an estimate of a request's input tokens."""
    total = 0
    for message in request.messages:
        total += MESSAGE_TOKENS
        for part in message.parts:
            if isinstance(part, TextPart):
                total += text_tokens(part.text)
            elif isinstance(part, ImagePart):
                total += image_tokens(preset, part.width, part.height)
    return total


def least_tokens(request: ChatRequest) -> int:
    """Return a lower bound of a request's input tokens: one for each word and each image.

    Tokenizers split at white space first, so that no token spans two words.
    """
    return sum(
        len(part.text.split()) if isinstance(part, TextPart) else 1
        for message in request.messages
        for part in message.parts
    )
