/** A model server that answers in the way named in the question, in both APIs; any other question gets one word. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

/** Behaviours that a question can name. */
export const WAYS = ["endless", "one line", "hangs", "large", "breaks off"] as const;
export type Way = (typeof WAYS)[number];

/** Characters per chunk of `endless` and `large`. */
const PIECE = "word ".repeat(20);
/** Characters of the answer `large`. */
export const LARGE_CHARS = 5_000_000;

interface Language {
  readonly begin: string;
  readonly piece: (text: string) => string;
  readonly end: string;
}

const event = (value: { readonly type?: string }) =>
  `${value.type === undefined ? "" : `event: ${value.type}\n`}data: ${JSON.stringify(value)}\n\n`;
const block = (type: string, more: object = {}) => event({ type, ...({ index: 0, ...more } as object) });
const choice = (more: object) => event({ choices: [{ index: 0, ...more }] } as object);
const usage = { input_tokens: 1, output_tokens: 1 };

const LANGUAGES: Readonly<Record<string, Language>> = {
  "/v1/chat/completions": {
    begin: ": one moment\n\n",
    piece: (text) => choice({ delta: { content: text } }),
    end: `${choice({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`,
  },
  "/v1/messages": {
    begin:
      block("message_start", { message: { id: "m", role: "assistant", content: [], usage } }) +
      block("content_block_start", { content_block: { type: "text", text: "" } }),
    piece: (text) => block("content_block_delta", { delta: { type: "text_delta", text } }),
    end:
      block("content_block_stop") +
      block("message_delta", { delta: { stop_reason: "end_turn" }, usage }) +
      block("message_stop"),
  },
};

async function* answerOf({ begin, piece, end }: Language, way: Way | undefined): AsyncGenerator<string, void, void> {
  yield begin;
  const many = piece(PIECE).repeat(100);
  if (way === "endless") for (;;) yield many;
  if (way === "one line") yield "data: ";
  if (way === "one line") for (;;) yield "x".repeat(65_536);
  if (way === "hangs") yield piece("I wait");
  if (way === "hangs") await new Promise(() => undefined);
  if (way === "breaks off") return yield piece("half a sentence");
  if (way === "large") for (let sent = 0; sent < LARGE_CHARS; sent += PIECE.length * 100) yield many;
  else yield piece("well");
  yield end;
}

export interface FloodingModel extends AsyncDisposable {
  /** Ending in `/v1`. */
  readonly url: string;
}

export async function startFloodingModel(): Promise<FloodingModel> {
  const server = createServer(async (req, res) => {
    const language = LANGUAGES[req.url ?? ""];
    const { messages } = JSON.parse((await readText(req)) || "{}") as { messages?: unknown[] };
    if (!language) return void res.writeHead(404).end();
    const question = JSON.stringify(messages?.at(-1));
    res.writeHead(200, { "content-type": "text/event-stream" });
    const way = WAYS.find((one) => question.includes(one));
    await pipeline(Readable.from(answerOf(language, way)), res).catch(() => undefined); // the client disconnected
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a listening TCP server has an address
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
