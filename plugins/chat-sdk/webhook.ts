/** The route to which networks deliver: answered when the gateway has all messages of the request. */
import { readBody } from "@svc/kit/body";
import { AnySignal, withDeadline } from "@svc/kit/time";
import {
  type Clock,
  type Logger,
  messageOf,
  type RouteReply,
  type RouteRequest,
  unavailable,
  untilAborted,
} from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import { told } from "./failures.ts";
import type { Live } from "./run.ts";
import { createDelivery, deliveries } from "./state.ts";

/** Networks wait for 3 to 60 seconds, and repeat the request afterwards. */
const ACCEPT_MS = 10_000;
const MAX_ANSWER_BYTES = 1_000_000;
/** Headers that the gateway sets for the answer it writes. */
const OWN_HEADERS = /^(?:connection|content-length|keep-alive|transfer-encoding)$/;

interface WebhookSources {
  readonly accounts: readonly ChannelAccount<Settings>[];
  readonly live: ReadonlyMap<string, Live>;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
}

/** Path of the webhook of an account. */
export const webhookOf = (accountId: string) => `/plugins/chat-sdk/${accountId}`;

export function createWebhook({ accounts, live, clock, log }: WebhookSources) {
  /** @throws GatewayError `UNAVAILABLE`: the network must repeat the request */
  async function deliver(request: RouteRequest<unknown>, { adapter, state, run }: Live): Promise<RouteReply> {
    const { settings, accountId: account } = run;
    const late = () => "it took too long";
    let response: Response | undefined;
    let hasAll = false;
    const accept = async (signal: AbortSignal) => {
      const ending = new AnySignal(signal);
      const delivery = createDelivery(ending.signal);
      const { messages, work } = delivery;
      const waitUntil = (task: Promise<unknown>) => void work.push(task.catch(() => undefined));
      try {
        const handled = deliveries.run(delivery, () =>
          told(settings, "handleWebhook", () => adapter.handleWebhook(webRequest(request, settings), { waitUntil })),
        );
        response = await untilAborted(handled, signal);
        // The work of an adapter can hand over messages, and those can begin further work.
        for (let count = -1; count !== messages.length + work.length;) {
          count = messages.length + work.length;
          hasAll = false;
          await untilAborted(Promise.all(messages), signal);
          hasAll = true;
          await untilAborted(Promise.all(work), signal);
        }
      } finally {
        ending.abort();
        const unsettled = (err: unknown) => log.warn({ err, account }, "a delivery of a network is not remembered");
        await state.settle(delivery, hasAll).catch(unsettled);
      }
    };
    try {
      await withDeadline({ ms: ACCEPT_MS, clock, signals: [run.signal], late }, accept);
    } catch (error) {
      // With all messages, only an indicator of the adapter is slow.
      if (!hasAll) log.info({ account, reason: messageOf(error) }, "a request of a network was not accepted");
    }
    // Without details: anybody can send a request.
    return response && hasAll ? replyOf(response) : unavailable("not accepted; next: send it again");
  }

  return async (request: RouteRequest<unknown>): Promise<RouteReply> => {
    const account = accounts.find(
      ({ id, configured, enabled }) => id === request.params["account"] && configured && enabled,
    );
    if (!account) return { status: 404 };
    const { id, settings } = account;
    if (request.rawBody.byteLength > settings.maxBodyBytes) return { status: 413 };
    return deliver(request, live.get(id) ?? unavailable("the account is not running; next: try again later"));
  };
}

/** The request as the network sent it: some networks sign the address, too. */
function webRequest(
  { method, path, query, headers, rawBody }: RouteRequest<unknown>,
  { publicUrl }: Settings,
): Request {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const scheme = String(headers["x-forwarded-proto"]) === "http" ? "http" : "https";
  const base = publicUrl ?? `${scheme}://${String(headers["host"])}`;
  const url = `${URL.canParse(base) ? base : "https://localhost"}${path}${query.size > 0 ? `?${query.toString()}` : ""}`;
  return new Request(url, { method, headers: fields, ...(method === "GET" ? {} : { body: rawBody }) });
}

async function replyOf(response: Response): Promise<RouteReply> {
  const bytes = await readBody(response, MAX_ANSWER_BYTES, () => unavailable("the answer of the adapter is too large"));
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !OWN_HEADERS.test(name)));
  return { status: response.status, headers, ...(bytes.length > 0 ? { body: bytes } : {}) };
}
