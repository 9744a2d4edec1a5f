/** An embeddings server: texts about the same subject get similar vectors. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Synonyms share a dimension. */
const THINGS = [
  ["key", "latchkey", "lock", "door"],
  ["cat", "kitten", "pet", "fox"],
  ["tea", "drink", "beverage", "coffee"],
  ["server", "atlas", "machine", "backup"],
];

/** @param dimensions at least 5 */
export function meaningOf(text: string, dimensions = 8): number[] {
  const vector = Array.from({ length: dimensions }, () => 0.01);
  for (const [at, words] of THINGS.entries())
    for (const word of words) if (text.toLowerCase().includes(word)) vector[at] = (vector[at] ?? 0) + 1;
  return vector;
}

export interface Asked {
  readonly model: string;
  readonly input: readonly string[];
}

/** Sends a response itself, or returns vectors. */
export type Behaviour = (asked: Asked, response: ServerResponse) => readonly (readonly number[])[] | undefined;

export const usual: Behaviour = ({ input }) => input.map((text) => meaningOf(text));

export async function startEmbeddings(t: TestContext) {
  const requests: Asked[] = [];
  const keys: (string | undefined)[] = [];
  let behaviour = usual;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const part of request) body += String(part);
    const asked = JSON.parse(body) as Asked;
    requests.push(asked);
    keys.push(request.headers.authorization);
    const vectors = request.url === "/v1/embeddings" ? behaviour(asked, response) : undefined;
    if (!vectors) {
      if (!response.writableEnded && request.url !== "/v1/embeddings") response.writeHead(404).end();
      return;
    }
    const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", data: data.toReversed() }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    behave: (next: Behaviour) => void (behaviour = next),
    /** All texts that were sent. */
    texts: () => requests.flatMap(({ input }) => input),
    keys: () => [...new Set(keys)],
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An error in the form of such servers. */
export function refusing(status: number, message: string, headers: Record<string, string> = {}): Behaviour {
  return (_asked, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ error: { message } }));
    return undefined;
  };
}
