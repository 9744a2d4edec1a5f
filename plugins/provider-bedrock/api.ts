/** Network access: the events of an answer, and the models. The only file of this plugin that calls servers. */
import { providerName, type ProviderPhase, reportedError, requestModelServer } from "@svc/kit/providers";
import type { Clock } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/models";
import { type Environment, secretsOf, type Server, serverOf, withCredentials } from "./credentials.ts";
import { type Frame, framesOf } from "./event-frames.ts";
import { toFailure } from "./failure.ts";
import type { ConverseEvent, ConverseRequest } from "./wire.ts";

export interface ConverseApiOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Default: that of the process. */
  readonly env?: Environment;
}

export interface ConverseApi {
  /**
   * Posts the request and yields the events of the answer.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for any error of the server or the network
   */
  events(
    model: string,
    body: ConverseRequest,
    account: ProviderAccount,
    signal: AbortSignal,
  ): AsyncGenerator<ConverseEvent, void, void>;
  /**
   * Runs `work` with a function that requests a path of the control plane.
   * @throws like `events`; errors of `work` as errors of the server
   */
  control<R>(
    account: ProviderAccount,
    signal: AbortSignal,
    work: (get: (path: string) => Promise<Response>) => Promise<R>,
  ): Promise<R>;
}

export function createConverseApi({ clock, fetch, env = process.env }: ConverseApiOptions): ConverseApi {
  async function send(
    method: "GET" | "POST",
    url: string,
    { account, server, signal, body }: { account: ProviderAccount; server: Server; signal: AbortSignal; body?: string },
  ): Promise<Response> {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const request = { method, url, headers: type, ...(body === undefined ? {} : { body }) };
    const headers = await withCredentials(request, account, server, { clock, env });
    return requestModelServer(url, { method, headers, signal, ...(body === undefined ? {} : { body }) }, fetch);
  }

  return {
    async *events(model, body, account, signal) {
      signal.throwIfAborted();
      let phase: ProviderPhase = "asking";
      try {
        const server = serverOf(account, env);
        const url = `${server.address}/model/${encodeURIComponent(model)}/converse-stream`;
        const response = await send("POST", url, { account, server, signal, body: JSON.stringify(body) });
        phase = "answering";
        for await (const frame of framesOf(response, providerName(account))) yield eventOf(frame);
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, model: { id: model }, phase, now: clock.now() }, secretsOf(env));
      }
      signal.throwIfAborted();
    },

    async control(account, signal, work) {
      signal.throwIfAborted();
      try {
        const server = serverOf(account, env);
        return await work((path) => send("GET", `${server.control}${path}`, { account, server, signal }));
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, phase: "asking", now: clock.now() }, secretsOf(env));
      }
    },
  };
}

/** @throws errors for `toFailure`: a SyntaxError, or an object with the name of the exception as `code` */
function eventOf({ headers, payload }: Frame): ConverseEvent {
  const type = headers[":message-type"];
  if (type === "error") {
    throw reportedError({ message: headers[":error-message"] ?? payload }, { code: headers[":error-code"] });
  }
  const fields = JSON.parse(payload === "" ? "{}" : payload) as object; // from the wire: `answer.ts` tolerates other shapes
  if (type === "exception") throw reportedError(fields, { code: headers[":exception-type"] });
  return { ...fields, name: headers[":event-type"] ?? "" };
}
