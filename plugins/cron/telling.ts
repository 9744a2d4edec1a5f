/** Sends what jobs have to say: through a channel, or to a webhook. */
import { isGatewayError, type Live, type Logger, messageOf, unavailable } from "@svc/sdk";
import type { Delivery } from "@svc/sdk/channels";
import type { CronEventPayload } from "@svc/sdk/cron";
import { isSecretRef, type Secrets } from "@svc/sdk/secrets";
import type { Sessions } from "@svc/sdk/sessions";
import type { OutboundFetch } from "@svc/sdk/web";
import type { CronConfig } from "./config.ts";
import { type Delivered, deliveredAs } from "./entries.ts";
import type { Destination } from "./notices.ts";

/** Spec: §10. */
const WEBHOOK_TIMEOUT_MS = 10_000;
/** Choice: bytes of its answer, which nobody reads. */
const WEBHOOK_ANSWER_BYTES = 64 * 1024;

/** Something to send. */
export interface Words {
  /** Unique: the same words are not sent twice for the same id. */
  readonly id: string;
  readonly agentId: string;
  readonly text: string;
  /** What a webhook gets. */
  readonly payload: CronEventPayload;
}

export interface TellingSources {
  readonly delivery: Live<Delivery>;
  readonly outbound: Live<OutboundFetch>;
  readonly sessions: Pick<Sessions, "canonicalKey">;
  readonly webhookToken: CronConfig["webhookToken"];
  /** Needed where the token is a reference. */
  readonly secrets: Live<Secrets>;
  readonly log: Pick<Logger, "warn">;
}

/** Never rejects: what became of it is what is recorded. */
export async function tell(words: Words, destination: Destination, sources: TellingSources): Promise<Delivered> {
  try {
    if (destination.mode === "webhook") return await post(words, destination, sources);
    return await announce(words, destination, sources);
  } catch (error) {
    if (!isGatewayError(error)) sources.log.warn({ err: error, id: words.id }, "the words of a job could not be sent");
    // It may still arrive: a channel that is away is tried again.
    return error instanceof Error &&
      isGatewayError(error) &&
      error.code === "UNAVAILABLE" &&
      destination.mode === "announce"
      ? { delivered: false, deliveryStatus: "unknown", deliveryError: error.message }
      : deliveredAs(messageOf(error));
  }
}

async function announce(
  { id, agentId, text }: Words,
  { channel = "last", to, accountId }: Destination,
  { delivery, sessions }: TellingSources,
): Promise<Delivered> {
  const post = delivery.get();
  if (!post) return deliveredAs("no plugin delivers to channels; see svc plugins why channels");
  const outcome = await post.deliver({
    id,
    channel,
    ...(to === undefined ? {} : { to }),
    ...(accountId === undefined ? {} : { accountId }),
    sessionKey: sessions.canonicalKey(`agent:${agentId}:main`),
    text,
  });
  return deliveredAs(outcome.delivered ? undefined : outcome.reason);
}

async function post({ payload }: Words, { to = "" }: Destination, sources: TellingSources): Promise<Delivered> {
  const outbound = sources.outbound.get();
  if (!outbound) return deliveredAs("no plugin asks addresses outside; see svc plugins why outbound");
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

/** @throws GatewayError `UNAVAILABLE` when the reference leads nowhere: a webhook that expects a token is not asked without one */
async function tokenOf({ webhookToken, secrets }: TellingSources): Promise<string | undefined> {
  if (!isSecretRef(webhookToken)) return webhookToken;
  const finder = secrets.get();
  if (!finder)
    return unavailable("cron.webhookToken is a reference, and no plugin finds secrets; see svc plugins why secrets");
  return finder.reveal(webhookToken);
}
