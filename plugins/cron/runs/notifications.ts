/** Sends the notifications of jobs: through a channel, or to a webhook. */
import { isGatewayError, type Live, type Logger, messageOf, unavailable } from "@svc/sdk";
import type { Delivery, DeliveryRequest } from "@svc/sdk/channels";
import type { CronEventPayload } from "@svc/sdk/cron";
import { isSecretRef, type Secrets } from "@svc/sdk/secrets";
import type { OutboundFetch } from "@svc/sdk/web";
import type { CronConfig } from "../config.ts";
import { defined } from "../fields.ts";
import type { Settled } from "../store/records.ts";
import type { Destination } from "./destinations.ts";

/** Spec: §10. */
const WEBHOOK_TIMEOUT_MS = 10_000;
/** Choice: most bytes of a webhook's response, which is ignored. */
const WEBHOOK_ANSWER_BYTES = 64 * 1024;

/** Outcome of a delivery, as recorded. */
export type Delivered = Pick<Settled["entry"], "delivered" | "deliveryStatus" | "deliveryError">;

export interface Notification {
  /** Unique: a notification is sent once for each id. */
  readonly id: string;
  /** Canonical key of the session whose last channel and recipient `last` stands for. */
  readonly sessionKey: string;
  readonly text: string;
  /** The body for a webhook. */
  readonly payload: CronEventPayload;
}

export interface NotificationSources {
  readonly delivery: Live<Delivery>;
  readonly outbound: Live<OutboundFetch>;
  readonly webhookToken: CronConfig["webhookToken"];
  /** Needed only for a token that is a secret reference. */
  readonly secrets: Live<Secrets>;
  readonly log: Pick<Logger, "warn">;
}

/** Never rejects; the result is recorded. */
export async function notify(
  notification: Notification,
  destination: Destination,
  sources: NotificationSources,
): Promise<Delivered> {
  try {
    if (destination.mode === "webhook") return await post(notification, destination, sources);
    return await announce(notification, destination, sources);
  } catch (error) {
    if (!isGatewayError(error))
      sources.log.warn({ err: error, id: notification.id }, "the notification of a cron job could not be sent");
    // It may still arrive: the outbox retries a channel that is disconnected.
    return error instanceof Error &&
      isGatewayError(error) &&
      error.code === "UNAVAILABLE" &&
      destination.mode === "announce"
      ? { delivered: false, deliveryStatus: "unknown", deliveryError: error.message }
      : deliveredAs(messageOf(error));
  }
}

async function announce(
  { id, sessionKey, text }: Notification,
  { channel = "last", to, threadId, accountId }: Destination,
  { delivery }: NotificationSources,
): Promise<Delivered> {
  const post = delivery.get();
  if (!post) return deliveredAs("no plugin delivers to channels; see svc plugins why channels");
  const outcome = await post.deliver(
    defined<DeliveryRequest>({ id, channel, to, threadId, accountId, sessionKey, text }),
  );
  return deliveredAs(outcome.delivered ? undefined : outcome.reason);
}

async function post(
  { payload }: Notification,
  { to = "" }: Destination,
  sources: NotificationSources,
): Promise<Delivered> {
  const outbound = sources.outbound.get();
  if (!outbound) return deliveredAs("no plugin makes outbound requests; see svc plugins why outbound");
  const token = await tokenOf(sources);
  const { status } = await outbound.fetch({
    url: to,
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(payload),
    maxBytes: WEBHOOK_ANSWER_BYTES,
    maxRedirects: 0,
    timeoutMs: WEBHOOK_TIMEOUT_MS,
  });
  return deliveredAs(status >= 200 && status < 300 ? undefined : `the webhook answered ${status}`);
}

/** @throws GatewayError `UNAVAILABLE` when the reference cannot be resolved: nothing is posted without the token */
async function tokenOf({ webhookToken, secrets }: NotificationSources): Promise<string | undefined> {
  if (!isSecretRef(webhookToken)) return webhookToken;
  const finder = secrets.get();
  if (!finder)
    return unavailable("cron.webhookToken is a reference, and no plugin resolves secrets; see svc plugins why secrets");
  return finder.reveal(webhookToken);
}

/** @param error why it was not delivered; `undefined`: it was delivered */
function deliveredAs(error: string | undefined): Delivered {
  if (error === undefined) return { delivered: true, deliveryStatus: "delivered" };
  return { delivered: false, deliveryStatus: "not-delivered", deliveryError: error };
}
