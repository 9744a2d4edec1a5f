/** The `Delivery` service: sends texts of agents, webhooks and others through the outbox. */
import { readSpeechTags } from "@svc/kit/runs";
import { type Clock, type Contribution, type Live, unavailable } from "@svc/sdk";
import type { Channel, ConfiguredChannel, Delivery } from "@svc/sdk/channels";
import type { Sessions } from "@svc/sdk/sessions";
import { chatTypeOf, destinationOf, inboundAddressOf } from "./addressing.ts";
import type { Outbox } from "./outbox.ts";
import { resolve } from "./sending.ts";
import type { MediaStore } from "../media-store.ts";
import type { SpokenAnswers } from "./spoken-answers.ts";
import { kindFor, storeFiles } from "./outgoing-files.ts";
import { type ChannelAccounts, defaultAccountOf, isRun } from "../accounts/channel-accounts.ts";

/** Choice: milliseconds a caller waits for the network; delivery continues after that. */
export const DELIVERY_WAIT_MS = 30_000;
const RETRY_MS = 30_000;

interface DeliverySources {
  readonly accounts: ChannelAccounts;
  readonly outbox: Pick<Outbox, "add" | "ended">;
  readonly sessions: Live<Sessions>;
  readonly media: Pick<MediaStore, "add">;
  readonly speech: Pick<SpokenAnswers, "audioOf">;
  readonly clock: Pick<Clock, "now">;
  /** Current settings. */
  readonly heartbeats: Delivery["heartbeats"];
}

export function createDelivery(sources: DeliverySources): Delivery {
  const { accounts, outbox, sessions, media: store, speech, clock, heartbeats } = sources;
  return {
    channels: () => accounts.channels().map(({ id }) => id),
    configured: () => accounts.configured().map((channel) => configuredChannel(channel, accounts)),
    channelId: (name) => accounts.channelId(name),
    heartbeats,

    takesVoice(name) {
      const channel = accounts.channel(accounts.channelId(name) ?? name);
      const { media = [], voice = false } = channel?.value.capabilities ?? {};
      return voice && media.includes("audio");
    },

    async sessionOf(place) {
      const known = sessions.get() ?? unavailable("the plugin sessions is not running");
      return known.route(await inboundAddressOf({ ...place, ...(await resolve(place, accounts)) }, accounts))
        .sessionKey;
    },

    async deliver(request) {
      const { sessionKey, files = [] } = request;
      const known = sessions.get();
      const entry = await known?.get(sessionKey);
      if (known?.sendPolicy(sessionKey, entry) === "deny")
        return { delivered: false, reason: 'the send policy of the session is "deny"' };
      const { isTagged, shown, spoken: hidden = "" } = readSpeechTags(request.text);
      const text = isTagged ? shown.trim() || hidden : request.text;
      if (text.trim() === "" && files.length === 0) return { delivered: false, reason: "the text is empty" };
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
      const { maxTextChars: maxChars, media: kinds = [] } = contribution.value.capabilities;
      const thread = threadId === undefined ? {} : { threadId };
      const wrong = files.find(({ kind }) => kindFor(kind, kinds) === undefined);
      if (wrong) return { delivered: false, reason: `channel ${contribution.id} does not accept ${wrong.kind} files` };
      const spoken = { text: request.text, channel: contribution.id, sessionKey, heardVoice: false, isFinal: false };
      const audio = files.length === 0 ? await speech.audioOf(spoken) : undefined;
      const sent = [...files, ...(audio ? [audio] : [])].map((file) => ({
        ...file,
        kind: kindFor(file.kind, kinds) ?? file.kind,
      }));
      const media = await storeFiles(id, sent, { store, clock });
      const extras = media.length === 0 ? {} : { extras: { media, mediaLast: true } };
      await outbox.add({ id, channel: contribution.id, accountId, to, text, maxChars, ...thread, ...extras });
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
