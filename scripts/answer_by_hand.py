#!/usr/bin/env python3
"""A model server that a person answers: a page shows each prompt with its pictures and takes the reply.

See "Answering by hand" in config/agents/README.md.
"""

from __future__ import annotations

import argparse
import html
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import queue
from typing import Any
from urllib.parse import parse_qs

HEAD = '<!doctype html><meta charset="utf-8"><title>Answer by hand</title>'
WAITING = f'{HEAD}<meta http-equiv="refresh" content="1">Waiting for a prompt.'
# How long a reply may take; a run gives up before (call_timeout) [s].
PATIENCE_S = 24 * 3600.0


class Server(ThreadingHTTPServer):
    """Holds the prompt that waits for a reply; a newer one takes its place."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        """Listen on this machine only; port 0 takes a free one."""
        super().__init__(('127.0.0.1', port), Handler)
        self.number = 0
        self.prompt: dict[str, Any] | None = None
        self.replies: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask(self, prompt: dict[str, Any]) -> str:
        """Show a prompt and return the reply that is typed."""
        replies: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.replies, self.prompt, self.number = replies, prompt, self.number + 1
        return replies.get(timeout=PATIENCE_S)

    def answer(self, number: int, text: str) -> None:
        """Give the reply to a prompt, unless another one has taken its place."""
        if self.prompt is not None and number == self.number:
            self.prompt = None
            self.replies.put(text)


class Handler(BaseHTTPRequestHandler):
    """The page on GET, completions and the page's form on POST."""

    server: Server

    def do_GET(self) -> None:
        """Show the prompt."""
        prompt = self.server.prompt
        self._send(WAITING if prompt is None else page(prompt, self.server.number), 'text/html')

    def do_POST(self) -> None:
        """Take a prompt from a run, or a reply from the page."""
        data = self.rfile.read(int(self.headers.get('content-length', '0'))).decode()
        if self.path == '/reply':
            form = parse_qs(data, keep_blank_values=True)
            self.server.answer(int(form['number'][0]), form['text'][0].replace('\r\n', '\n'))
            self.send_response(303)
            self.send_header('Location', '/')
            self.send_header('Content-Length', '0')
            self.end_headers()
        elif self.path == '/v1/chat/completions':
            message = {'role': 'assistant', 'content': self.server.ask(json.loads(data))}
            choice = {'index': 0, 'message': message, 'finish_reason': 'stop'}
            content = {'object': 'chat.completion', 'model': 'by_hand', 'choices': [choice]}
            self._send(json.dumps(content), 'application/json')
        else:
            self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def _send(self, text: str, kind: str) -> None:
        raw = text.encode()
        self.send_response(200)
        self.send_header('Content-Type', f'{kind}; charset=utf-8')
        self.send_header('Content-Length', str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def page(prompt: dict[str, Any], number: int) -> str:
    """Return the page of a prompt: every message in order, then the form."""
    shown = [HEAD]
    for message in prompt['messages']:
        content = message['content']
        shown.append(f'<h3>{html.escape(message["role"])}</h3>')
        for part in content if isinstance(content, list) else [{'text': content}]:
            if 'image_url' in part:
                shown.append(f'<img src="{html.escape(part["image_url"]["url"])}">')
            else:
                shown.append(
                    f'<pre style="white-space:pre-wrap">{html.escape(part["text"])}</pre>'
                )
    shown.append(
        f'<form method="post" action="/reply"><input type="hidden" name="number" value="{number}">'
        '<textarea name="text" rows="12" cols="100" autofocus></textarea><br>'
        '<button>Send this reply</button></form>'
    )
    return '\n'.join(shown)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--port', type=int, default=8765)
    port = parser.parse_args().port
    with Server(port) as server:
        print(f'Open http://127.0.0.1:{port}/ and start a run with agent:=mllm model:=by_hand')
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == '__main__':
    main()
