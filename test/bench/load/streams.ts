/** Questions with streamed answers: over a WebSocket through a gateway or a relay, or directly from the model server. */
import { Agent, request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { ANSWERS, type AnswerKind } from "./model.ts";
import { clientFrame } from "./frames.ts";
import type { LoadSocket } from "./socket.ts";

/** Milliseconds from the question. */
export interface Timing {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Asks once; resolves when the answer is complete. @throws Error it fails or is incomplete after 15 seconds */
export type Ask = (kind: AnswerKind) => Promise<Timing>;

const ANSWER_MS = 15_000;

interface AgentPayload {
  readonly runId: string;
  readonly stream: string;
  readonly data: { readonly phase?: string; readonly error?: string; readonly delta?: string };
}

interface Frame {
  readonly ok?: boolean;
  readonly error?: { readonly message: string };
  readonly event?: string;
  readonly payload?: AgentPayload;
}

interface Listening {
  piece(): void;
  end(error?: Error): void;
}

let questions = 0;

/** `chat.send`, each in its own session; `agent` events contain the answer. Takes over the socket. */
export function askBySocket(socket: LoadSocket): Ask {
  const runs = new Map<string, Listening>();
  const failAll = (error: Error) => {
    for (const run of runs.values()) run.end(error);
  };
  socket.onFailure(failAll);
  socket.listen((buffer, start, end) => {
    const { event, payload, ok, error } = JSON.parse(buffer.toString("utf8", start, end)) as Frame;
    if (ok === false) return failAll(new Error(`a question was refused: ${error?.message}`));
    if (event !== "agent" || !payload) return;
    const { runId, stream, data } = payload;
    if (stream === "assistant") runs.get(runId)?.piece();
    if (stream !== "lifecycle" || data.phase === "start") return;
    runs.get(runId)?.end(data.phase === "end" ? undefined : new Error(`a run failed: ${data.error}`));
  });
  return (kind) => {
    const runId = `run-${process.pid}-${++questions}`;
    const params = {
      sessionKey: `agent:main:stream-${questions}`,
      message: ANSWERS[kind].question,
      idempotencyKey: runId,
    };
    const frame = clientFrame(JSON.stringify({ type: "req", id: runId, method: "chat.send", params }));
    return timed((listening) => {
      runs.set(runId, listening);
      socket.write(frame);
    }).finally(() => runs.delete(runId));
  };
}

/** The request to one of the public APIs, and the response lines that carry text. */
interface Api {
  readonly path: string;
  body(question: string): object;
  readonly piece: RegExp;
}

export const CHAT_COMPLETIONS: Api = {
  path: "/chat/completions",
  body: (question) => ({ model: "model", stream: true, messages: [{ role: "user", content: question }] }),
  piece: /"content":"[^"]/,
};

export const RESPONSES: Api = {
  path: "/responses",
  body: (question) => ({ model: "model", stream: true, input: question }),
  piece: /^data: .*"response\.output_text\.delta"/,
};

/** One of the public APIs over HTTP. @param baseUrl ends in `/v1` */
export function askOverHttp(baseUrl: string, agent: Agent, api: Api = CHAT_COMPLETIONS, token?: string): Ask {
  const url = new URL(baseUrl + api.path);
  return (kind) => {
    const body = JSON.stringify(api.body(ANSWERS[kind].question));
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    return timed((listening) => {
      const question = httpRequest(url, { agent, method: "POST", headers }, (answer) => {
        if (answer.statusCode !== 200) listening.end(new Error(`a question was refused with ${answer.statusCode}`));
        const lines = createInterface(answer);
        lines.on("error", (error: Error) => listening.end(error));
        lines.on("line", (line) => {
          if (line === "data: [DONE]") listening.end();
          else if (line.startsWith('data: {"error"')) listening.end(new Error(line));
          else if (api.piece.test(line)) listening.piece();
        });
      });
      question.once("error", (error) => listening.end(error));
      question.end(body);
    });
  };
}

function timed(ask: (listening: Listening) => void): Promise<Timing> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    let firstMs: number | undefined;
    let lastMs = 0;
    const late = setTimeout(() => reject(new Error("an answer did not come to its end")), ANSWER_MS);
    ask({
      piece() {
        lastMs = performance.now() - begun;
        firstMs ??= lastMs;
      },
      end(error) {
        clearTimeout(late);
        if (error) reject(error);
        else if (firstMs === undefined) reject(new Error("an answer was empty"));
        else resolve({ firstMs, lastMs });
      },
    });
  });
}
