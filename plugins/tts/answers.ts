/** The service `Speech`: whether an answer is spoken, and its words. */
import { readSpeechTags } from "@svc/kit/runs";
import { lazy, type Live, type Logger, matches, messageOf, untilAborted } from "@svc/sdk";
import type { Sessions } from "@svc/sdk/sessions";
import { Speech, SpeechAuto } from "@svc/sdk/speech";
import type { TtsConfig } from "./config.ts";
import { fitting, type FittingSources } from "./fitting.ts";
import type { Prefs, PrefsFile } from "./prefs.ts";
import type { Speaking } from "./speaking.ts";
import { wishesOf } from "./wishes.ts";

export interface AnswerSources {
  readonly speaking: Speaking;
  readonly config: () => TtsConfig;
  readonly prefs: Pick<PrefsFile, "read">;
  readonly sessions: Live<Pick<Sessions, "get">>;
  readonly fitting: FittingSources;
  readonly log: Pick<Logger, "warn">;
}

const words = lazy(() => import("./spoken-text.ts"));

/** Choice: characters of an answer that are read for its words. */
const MAX_ANSWER_CHARS = 100_000;

const HINT =
  "An answer is spoken to the person if it contains the tag [[tts]]. To speak other words than the shown text, write them " +
  "between [[tts:text]] and [[/tts:text]]. People do not see the tags.";

/** Preferences, then configuration; both have an older form. Spec: protocol/methods-tts.md. */
export function autoOf(prefs: Prefs, config: Pick<TtsConfig, "auto" | "enabled">): SpeechAuto {
  const older = (enabled: boolean | undefined) => (enabled === undefined ? undefined : enabled ? "always" : "off");
  return prefs.auto ?? older(prefs.enabled) ?? config.auto ?? older(config.enabled) ?? "off";
}

/** The service, and whether and when answers of a session are spoken. */
export interface SessionSpeech extends Speech {
  auto(sessionKey: string): Promise<SpeechAuto>;
}

export function createSpeech({
  speaking,
  config,
  prefs,
  sessions,
  fitting: sources,
  log,
}: AnswerSources): SessionSpeech {
  async function auto(sessionKey: string): Promise<SpeechAuto> {
    const entry = await sessions.get()?.get(sessionKey);
    const own = entry?.["ttsAuto"];
    return matches(SpeechAuto, own) ? own : autoOf(await prefs.read(), config());
  }

  return {
    auto,
    hint: async (sessionKey) => ((await auto(sessionKey)) === "tagged" ? HINT : undefined),
    speak: (job, signal) => speaking.speak(job, signal),
    interrupt: async (sessionKey) => speaking.interrupt(sessionKey),

    async answer({ text, channel, sessionKey, heardVoice, isFinal = true }, signal) {
      const tags = readSpeechTags(text);
      const { modelOverrides, mode, maxTextLength } = config();
      const spoken = tags.spoken ?? "";
      const shown = tags.shown.trim() || spoken; // a failure of speech must not lose the words
      try {
        const wanted = await auto(sessionKey);
        const isWanted =
          wanted === "always" || (wanted === "inbound" && heardVoice) || (wanted === "tagged" && tags.isTagged);
        if (!isWanted || (!isFinal && mode !== "all")) return { text: shown };
        const mayReplace = modelOverrides.enabled && modelOverrides.allowText;
        const { spokenText } = await words();
        const plain = spokenText((mayReplace && spoken !== "" ? spoken : shown).slice(0, MAX_ANSWER_CHARS));
        if (plain === "") return { text: shown };
        const { maxLength = maxTextLength, summarize = true } = await prefs.read();
        const limit = Math.min(maxLength, maxTextLength);
        const fit = await fitting(plain, { limit, summarizes: summarize, signal }, sources);
        const job = { ...wishesOf(tags.settings, modelOverrides), text: fit, channel, sessionKey };
        const audio = await untilAborted(speaking.speak(job, signal), signal);
        return { text: shown, audio };
      } catch (error) {
        log.warn({ sessionKey, reason: messageOf(error) }, "an answer is sent without speech");
        return { text: shown };
      }
    },
  };
}
