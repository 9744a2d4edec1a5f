/** The `SpeechEngine` extension point and the `Speech` service. */
import { defineExtensionPoint, defineService } from "../service.ts";

/** Formats of audio: `opus` is Opus in an Ogg file, which channels send as a voice message. */
export type SpeechFormat = "opus" | "mp3" | "wav";

/** One text to speak. Absent values are those of the engine's configuration. */
export interface SpeechRequest {
  /** Not blank; at most `messages.tts.maxTextLength` characters. */
  readonly text: string;
  /** Preferred format. The engine may return another one of its formats. */
  readonly format: SpeechFormat;
  readonly voice?: string;
  readonly model?: string;
  /** Language code, e.g. `en`. */
  readonly language?: string;
  /** Further settings of the text, e.g. `speed`, by the names of the engine's API. An engine ignores those that it lacks. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
}

/** A word of spoken text, for subtitles. */
export interface SpokenWord {
  readonly text: string;
  /** Milliseconds from the start of the audio. */
  readonly startMs: number;
  readonly endMs: number;
}

/** Spoken text. */
export interface SpokenAudio {
  /** At most 25,000,000 bytes; the owner checks by the first bytes that this is audio. */
  readonly bytes: Uint8Array;
  readonly format: SpeechFormat;
  /** Absent: the engine does not know when each word is spoken. */
  readonly words?: readonly SpokenWord[];
}

/** Speaks texts. The contribution id is the value of `messages.tts.provider`. */
export interface SpeechEngine {
  /** Name for people. */
  readonly label: string;
  readonly models?: readonly string[];
  readonly voices?: readonly string[];
  /** @returns what is missing, for people, e.g. the key to set; `undefined`: the engine can speak */
  missing(): Promise<string | undefined>;
  /**
   * Must end when the signal aborts; the owner aborts it after `messages.tts.timeoutMs`.
   * @throws GatewayError `UNAVAILABLE` with a message for people; the next engine is then tried
   */
  speak(request: SpeechRequest, signal: AbortSignal): Promise<SpokenAudio>;
}

/** Token of the extension point. */
export const SpeechEngine = defineExtensionPoint<SpeechEngine>("speech.engine", {
  summary:
    "Engines that speak texts. Owned by the plugin `tts`, which selects and limits them; contributed by every plugin that offers a voice.",
  remotable: true,
});

/** A text for a listener. */
export interface SpeechJob {
  readonly text: string;
  /** Channel that gets the audio; decides the format. Default: MP3. */
  readonly channel?: string;
  /** Session of the text. A later job, or a message of the person, of the same session ends this job. */
  readonly sessionKey?: string;
  /** Engine to use first; default: the selected one. The others that can speak follow. */
  readonly engine?: string;
  /** For the first engine only, because the others have other voices and models. */
  readonly wishes?: Pick<SpeechRequest, "voice" | "model" | "language" | "settings">;
}

/** Audio of a job. */
export interface Spoken extends SpokenAudio {
  /** Id of the engine. */
  readonly provider: string;
  readonly mimeType: string;
  /** File extension with the dot. */
  readonly extension: string;
  /** Channels can send it as a voice message. */
  readonly isVoice: boolean;
}

/** Speaks texts. */
export interface Speech {
  /**
   * What the system prompt of a run in this session says about speech, e.g. how the model marks texts to speak;
   * `undefined`: nothing.
   */
  hint(sessionKey: string): Promise<string | undefined>;
  /**
   * Speaks an answer of a channel, if its session wants that. A failure of speech is logged, and the text returned alone.
   * @param answer.text as the model wrote it, with tags for speech
   * @param answer.heardVoice the person sent a voice message
   * @param answer.isFinal false: a text that is no answer, e.g. of a scheduled job; only spoken if `messages.tts.mode`
   *   is `all`. Default true.
   * @returns the text to show, without tags for speech, and the audio; no audio: the answer is not spoken
   */
  answer(
    answer: {
      readonly text: string;
      readonly channel: string;
      readonly sessionKey: string;
      readonly heardVoice: boolean;
      readonly isFinal?: boolean;
    },
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly audio?: Spoken }>;
  /** @throws GatewayError `INVALID_REQUEST`: blank or too long; `UNAVAILABLE`: no engine could speak it */
  speak(job: SpeechJob, signal: AbortSignal): Promise<Spoken>;
  /** Ends the jobs of this session: the person speaks. */
  interrupt(sessionKey: string): Promise<void>;
}

/** Token of the service. */
export const Speech = defineService<Speech>()("speech", "1.0.0", {
  summary: "Speaks texts. Provided by the plugin `tts`; used by channels, talk mode and the tool `tts`.",
  remotable: true,
});
