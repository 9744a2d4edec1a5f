/** The routes to which WhatsApp delivers. */
import { createHmac } from "node:crypto";
import { isSameSecret } from "@svc/kit/secret";
import { type Logger, matches, parseJsonBody, type RouteReply, type RouteRequest, unavailable } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import { Contact, Delivery, Message, Status, Value } from "./events.ts";
import { explained, Failure } from "./failures.ts";
import type { Outgoing } from "./outgoing.ts";
import type { LiveAccount } from "./run.ts";
import { toInbound } from "./translate.ts";

export interface WebhookSources extends Pick<Outgoing, "note" | "markRead"> {
  readonly accounts: readonly ChannelAccount<Settings>[];
  readonly live: ReadonlyMap<string, LiveAccount>;
  readonly log: Pick<Logger, "info" | "warn">;
}

type Request = Pick<RouteRequest<unknown>, "params" | "query" | "headers" | "rawBody">;
const UNAUTHORIZED: RouteReply = { status: 401, body: { error: "unauthorized" } };

export function createWebhook({ accounts, live, log, note, markRead }: WebhookSources) {
  const accountOf = ({ params }: Pick<Request, "params">) => accounts.find(({ id }) => id === params["account"]);

  /** The account with this number. One with another secret must not be reached with the secret of `named`. */
  const ownerOf = (named: ChannelAccount<Settings>, numberId: string) =>
    [named, ...accounts].find(
      ({ settings }) =>
        settings.phoneNumberId === numberId && isSameSecret(settings.appSecret, named.settings.appSecret),
    );

  function logFailures(message: string, errors: readonly unknown[] = [], about: object = {}): void {
    for (const error of errors) if (matches(Failure, error)) log.warn({ ...about, ...explained(error) }, message);
  }

  async function accept(raw: unknown, { contacts = [], metadata }: Value, { run, background }: LiveAccount) {
    if (!matches(Message, raw)) return log.warn({}, "a malformed message of WhatsApp was skipped");
    const { id, type: kind, errors } = raw;
    logFailures("WhatsApp could not pass on a message", errors, { id });
    const known = contacts.filter((contact): contact is Contact => matches(Contact, contact));
    const message = toInbound(raw, known, (metadata.display_phone_number ?? "").replace(/\D/g, ""));
    if (typeof message === "string") return log.info({ id, kind, reason: message }, "a WhatsApp message was skipped");
    const { accepted } = await run.receive(message);
    if (!accepted || (message.event && message.event.kind !== "button")) return;
    note(run.accountId, message.chat.id, id);
    if (run.settings.sendReadReceipts) background(markRead(run, id));
  }

  async function acceptAll(value: Value, running: LiveAccount): Promise<void> {
    running.run.alive();
    logFailures("WhatsApp reports an error", value.errors);
    for (const status of value.statuses ?? [])
      if (matches(Status, status) && status.status === "failed")
        logFailures("WhatsApp could not deliver a sent message", status.errors, { id: status.id });
    for (const message of value.messages ?? []) await accept(message, value, running);
  }

  return {
    /** Verification of the address. */
    verify(request: Pick<Request, "params" | "query">): RouteReply {
      const { query } = request;
      const { verifyToken = "" } = accountOf(request)?.settings ?? {};
      const isKnown = verifyToken !== "" && isSameSecret(query.get("hub.verify_token") ?? "", verifyToken);
      if (!isKnown || query.get("hub.mode") !== "subscribe") return UNAUTHORIZED;
      return { headers: { "content-type": "text/plain; charset=utf-8" }, body: query.get("hub.challenge") ?? "" };
    },

    /** WhatsApp repeats a delivery until it gets status 200. @throws GatewayError `UNAVAILABLE`: the gateway lacks a message */
    async deliver(request: Pick<Request, "params" | "headers" | "rawBody">): Promise<RouteReply> {
      const { headers, rawBody } = request;
      const named = accountOf(request);
      const { appSecret = "" } = named?.settings ?? {};
      const signature = `sha256=${createHmac("sha256", appSecret).update(rawBody).digest("hex")}`;
      const isSigned = isSameSecret(String(headers["x-hub-signature-256"]), signature);
      if (!named || appSecret === "" || !isSigned) return UNAUTHORIZED;
      const delivery = parseJsonBody(rawBody);
      if (!matches(Delivery, delivery)) return { status: 400, body: { error: "not a delivery of WhatsApp" } };
      for (const { field, value } of delivery.entry.flatMap(({ changes }) => changes)) {
        if (field !== "messages") continue; // apps can subscribe to more
        const owner = matches(Value, value) ? ownerOf(named, value.metadata.phone_number_id) : undefined;
        if (!matches(Value, value)) log.warn({}, "a malformed delivery of WhatsApp was skipped");
        else if (owner && owner.enabled !== false)
          await acceptAll(value, live.get(owner.id) ?? unavailable("the account does not run; next: try again later"));
      }
      return { status: 200 };
    },
  };
}
