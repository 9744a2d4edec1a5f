/** A model server for the APIs that the SDK's fake model server does not have: the same scripts, other formats. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FakeModelServer } from "../../../../sdk/testing/fake-model-server.ts";
import { readQuestion } from "../../../../sdk/testing/fake-model/http.ts";
import {
  complete,
  type CompleteReply,
  type FakeModelReply,
  type FakeModelRequest,
} from "../../../../sdk/testing/fake-model/script.ts";

/** The format of one API. */
export interface Format {
  /** Path of the base address, e.g. `/v1`. */
  readonly base: string;
  /** Paths of questions, without the query. */
  readonly question: RegExp;
  answer(res: ServerResponse, reply: CompleteReply, stop: AbortSignal): Promise<void>;
  refuse(res: ServerResponse, reply: FakeModelReply & { readonly status: number }): void;
}

export async function startScripted({ base, question, answer, refuse }: Format): Promise<FakeModelServer> {
  const requests: FakeModelRequest[] = [];
  const queue: FakeModelReply[] = [];
  const stopping = new AbortController();
  const server = createServer((req, res) => {
    void (async () => {
      const request = await readQuestion(req, res, stopping.signal);
      requests.push(request);
      if (!question.test(request.path)) return refuse(res, { status: 404, message: `Unknown path ${request.path}` });
      const reply = queue.shift() ?? { text: "an echo" };
      if (reply.status !== undefined) return refuse(res, { ...reply, status: reply.status });
      await answer(
        res,
        complete(reply, request.body, () => 1),
        stopping.signal,
      );
    })().catch(() => res.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () =>
    new Promise<void>((resolve) => {
      stopping.abort();
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    requests,
    reply: (...replies) => void queue.push(...replies),
    close,
    [Symbol.asyncDispose]: close,
  };
}
