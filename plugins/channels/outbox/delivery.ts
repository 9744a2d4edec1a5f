/** The `Delivery` service: sends texts of agents, webhooks and others through the outbox. */
import { type Contribution, type Live, unavailable } from "@svc/sdk";
import type { Channel, ConfiguredChannel, Delivery } from "@svc/sdk/channels";
import type { Sessions } from "@svc/sdk/sessions";
import { chatTypeOf, destinationOf, inboundAddressOf } from "./addressing.ts";
import type { Outbox } from "./outbox.ts";
import { resolve } from "./sending.ts";
import { type ChannelAccounts, defaultAccountOf, isRun } from "../accounts/channel-accounts.ts";

/** Choice: milliseconds a caller waits for the network; delivery continues after that. */
export const DELIVERY_WAIT_MS = 30_000;
const RETRY_MS = 30_000;

interface DeliverySources {
  readonly accounts: ChannelAccounts;
  readonly outbox: Pick<Outbox, "add" | "ended">;
  readonly sessions: Live<Sessions>;
  /** Current settings. */
  readonly heartbeats: Delivery["heartbeats"];
}

export function createDelivery({ accounts, outbox, sessions, heartbeats }: DeliverySources): Delivery {
  return {
    channels: () => accounts.channels().map(({ id }) => id),
    configured: () => accounts.configured().map((channel) => configuredChannel(channel, accounts)),
    channelId: (name) => accounts.channelId(name),
    heartbeats,

    async sessionOf(place) {
      const known = sessions.get() ?? unavailable("the plugin sessions is not running");
      return known.route(await inboundAddressOf({ ...place, ...(await resolve(place, accounts)) }, accounts))
        .sessionKey;
    },

    async deliver(request) {
      const { sessionKey, text } = request;
      const known = sessions.get();
      const entry = await known?.get(sessionKey);
      if (known?.sendPolicy(sessionKey, entry) === "deny")
        return { delivered: false, reason: 'the send policy of the session is "deny"' };
      if (text.trim() === "") return { delivered: false, reason: "the text is empty" };
      const destination = await destinationOf(request, entry, accounts);
      if (typeof destination === "string") return { delivered: false, reason: destination };
      const { contribution, accountId, to, threadId } = destination;
      if (request.allowsDirect === false && (await chatTypeOf(contribution, to, accounts)) === "direct")
        return {
          delivered: false,
          reason: `${to} is a direct chat, which this delivery does not allow`,
          code: "dm-blocked",
        };
      const id = `delivery:${request.id}`;
      const { maxTextChars: maxChars } = contribution.value.capabilities;
      const thread = threadId === undefined ? {} : { threadId };
      await outbox.add({ id, channel: contribution.id, accountId, to, text, maxChars, ...thread });
      const ended = await outbox.ended(id, DELIVERY_WAIT_MS);
      if (!ended) {
        return unavailable(`channel ${contribution.id} has not accepted the text yet; delivery continues`, {
          retryAfterMs: RETRY_MS,
        });
      }
      // The first request with this id decided the destination.
      if (ended.status === "sent")
        return { delivered: true, channel: ended.channel, to: ended.to, accountId: ended.accountId };
      return { delivered: false, reason: ended.reason ?? "it could not be sent" };
    },
  };
}

function configuredChannel(
  contribution: Contribution<Channel>,
  accounts: Pick<ChannelAccounts, "accounts">,
): ConfiguredChannel {
  const { id, value } = contribution;
  return {
    id,
    label: value.label,
    defaultAccountId: defaultAccountOf(value),
    accounts: accounts.accounts(contribution).flatMap(({ account, run }) =>
      isRun(account)
        ? [
            {
              accountId: account.id,
              connected: run?.state.phase === "running" && run.state.report?.state === "connected",
              linked: run?.state.phase !== "needs-login" && run?.state.phase !== "logged-out",
            },
          ]
        : [],
    ),
  };
}
