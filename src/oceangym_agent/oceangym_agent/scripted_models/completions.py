"""Chat-completion JSON: what a request holds and what a response counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BYTES_PER_TOKEN = 4
TOKENS_PER_IMAGE = 85


def usage(body: Mapping[str, Any], reply: str) -> dict[str, int]:
    """Return token counts that depend on nothing but the lengths of texts and the images."""
    texts, images = contents(body)
    prompt = sum(-(-len(text) // BYTES_PER_TOKEN) for text in texts) + images * TOKENS_PER_IMAGE
    completion = -(-len(reply) // BYTES_PER_TOKEN)
    return {
        'prompt_tokens': prompt,
        'completion_tokens': completion,
        'total_tokens': prompt + completion,
    }


def contents(body: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
    """Return a request's texts in order, and how many images it holds."""
    texts: list[str] = []
    images = 0
    for message in body.get('messages', ()):
        content = message.get('content') if isinstance(message, dict) else None
        if isinstance(content, str):
            texts.append(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get('text'), str):
                texts.append(part['text'])
            images += isinstance(part, dict) and part.get('type') == 'image_url'
    return tuple(texts), images
