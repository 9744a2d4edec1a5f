/** Speech of answers: asks the service `Speech`, which may be missing, fail or hang; the text is sent in any case. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, type Live, type Logger, messageOf, untilAborted } from "@svc/sdk";
import type { InboundMedia, OutboundMedia } from "@svc/sdk/channels";
import type { Speech } from "@svc/sdk/speech";
import type { ChannelAccounts } from "../accounts/channel-accounts.ts";
import type { MediaStore } from "../media-store.ts";
import { kindFor, MAX_MEDIA_BYTES, storeFiles } from "./outgoing-files.ts";

/** Choice: milliseconds for speech: more than `messages.tts.timeoutMs` allows, for a plugin that hangs. */
const SPEECH_MS = 270_000;
/** Choice: milliseconds for the hint, which a run waits for. */
const HINT_MS = 5_000;

export interface SpokenAnswerSources {
  readonly speech: Live<Speech>;
  readonly accounts: Pick<ChannelAccounts, "channel">;
  readonly media: Pick<MediaStore, "add">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "debug">;
  readonly signal: AbortSignal;
}

/** A text for a channel. */
export interface SpokenText {
  /** As the model wrote it, with tags for speech. */
  readonly text: string;
  readonly channel: string;
  readonly sessionKey: string;
  readonly heardVoice: boolean;
  readonly isFinal?: boolean;
}

/** A message that is answered. */
interface AnsweredMessage {
  readonly key: string;
  readonly channel: string;
  readonly sessionKey: string;
  readonly job: { readonly media?: readonly Pick<InboundMedia, "isVoice">[] };
}

export interface SpokenAnswers {
  /** The audio of a text, for channels that accept files; `undefined`: it is not spoken. Never rejects. */
  audioOf(text: SpokenText): Promise<OutboundMedia | undefined>;
  /** Ids of the stored audio files of an answer. @throws the reason of the signal; errors of storage */
  filesFor(message: AnsweredMessage, text: string): Promise<readonly string[]>;
  /** What the run of a message is told about speech. Never rejects. */
  hint(sessionKey: string): Promise<string | undefined>;
  /** The person speaks: speech of this session ends. */
  interrupt(sessionKey: string): void;
}

export function createSpokenAnswers(sources: SpokenAnswerSources): SpokenAnswers {
  const { speech, accounts, media: store, clock, log, signal } = sources;

  const inTime = <T>(ms: number, work: (service: Speech, stop: AbortSignal) => Promise<T>): Promise<T | undefined> => {
    const service = speech.get();
    if (!service) return Promise.resolve(undefined);
    const late = () => `speech was not ready within ${ms / 1_000} s`;
    return withDeadline({ ms, clock, signals: [signal], late }, (stop) => untilAborted(work(service, stop), stop));
  };

  async function audioOf(text: SpokenText): Promise<OutboundMedia | undefined> {
    const { channel, sessionKey } = text;
    const capabilities = accounts.channel(channel)?.value.capabilities;
    const kind = kindFor("audio", capabilities?.media ?? []);
    if (kind === undefined) return undefined;
    const answer = await inTime(SPEECH_MS, (service, stop) => service.answer(text, stop)).catch((error: unknown) => {
      if (!signal.aborted)
        log.warn({ channel, sessionKey, reason: messageOf(error) }, "an answer is sent without speech");
      return undefined;
    });
    if (!answer?.audio) return undefined;
    const { bytes, mimeType, extension, isVoice } = answer.audio;
    const most = capabilities?.maxMediaBytes ?? MAX_MEDIA_BYTES;
    if (bytes.byteLength > most) {
      log.warn(
        { channel, sessionKey, bytes: bytes.byteLength, most },
        "the speech of an answer is too large for its channel",
      );
      return undefined;
    }
    const voice = isVoice && kind === "audio" && capabilities?.voice === true;
    return { kind, bytes, name: `answer${extension}`, mimeType, ...(voice ? { isVoice: true } : {}) };
  }

  return {
    audioOf,

    async filesFor({ key, channel, sessionKey, job }, text) {
      const heardVoice = (job.media ?? []).some(({ isVoice }) => isVoice === true);
      const audio = await audioOf({ text, channel, sessionKey, heardVoice });
      signal.throwIfAborted(); // the next start of the plugin speaks again
      return audio === undefined ? [] : storeFiles(`reply:${key}`, [audio], { store, clock });
    },

    hint: (sessionKey) =>
      inTime(HINT_MS, (service) => service.hint(sessionKey)).catch((error: unknown) => {
        log.debug({ sessionKey, reason: messageOf(error) }, "a run starts without a hint about speech");
        return undefined;
      }),

    interrupt: (sessionKey) =>
      void speech
        .get()
        ?.interrupt(sessionKey)
        .catch((error: unknown) => log.debug({ sessionKey, reason: messageOf(error) }, "speech was not interrupted")),
  };
}
