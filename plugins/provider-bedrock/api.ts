/** Network access: the events of an answer, and the models. The only file of this plugin that calls servers. */
import { createCalls, providerName, reportedError, requestModelServer } from "@svc/kit/providers";
import type { Clock } from "@svc/sdk";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import { type Environment, type Server, serverOf, withCredentials } from "./credentials.ts";
import { type Frame, framesOf } from "./event-frames.ts";
import { factsOf } from "./failure.ts";
import { readModels } from "./models.ts";
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
   * Posts the request and yields the events of the answer, each in a list of its own.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for any error of the server or the network
   */
  events(
    model: string,
    body: ConverseRequest,
    account: ProviderAccount,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ConverseEvent[], void, void>;
  /** The models that the account may call. @throws like `events`: of kind `auth` if the credentials do not include the lists */
  models(account: ProviderAccount, signal: AbortSignal): Promise<readonly ModelChoice[]>;
}

export function createConverseApi({ clock, fetch, env = process.env }: ConverseApiOptions): ConverseApi {
  const calls = createCalls({ clock, factsOf: (error, account) => factsOf(error, account, env) });

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
    events: (model, body, account, signal) =>
      calls.stream({
        account,
        signal,
        model,
        async send() {
          const server = serverOf(account, env);
          const url = `${server.address}/model/${encodeURIComponent(model)}/converse-stream`;
          return send("POST", url, { account, server, signal, body: JSON.stringify(body) });
        },
        async *read(response) {
          for await (const frame of framesOf(response, providerName(account))) yield [eventOf(frame)];
        },
      }),

    models: (account, signal) =>
      calls.run({ account, signal }, async () => {
        const server = serverOf(account, env);
        return readModels(account, (path) => send("GET", `${server.control}${path}`, { account, server, signal }));
      }),
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
