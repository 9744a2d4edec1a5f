/**
 * The engine `edge`: the voices that a browser reads pages with, without a key. Choice: an own client, because the libraries
 * for this service write files or bring browser shims, have no limits, and know only one address. Loaded on first use.
 */
import { type Clock, lazy } from "@svc/sdk";
import type { SpeechEngine } from "@svc/sdk/speech";
import type { TtsConfig } from "../config.ts";

export interface EdgeParts {
  readonly settings: () => TtsConfig["edge"];
  /** `messages.tts.timeoutMs` */
  readonly timeoutMs: () => number;
  readonly clock: Clock;
  /** Address of the service. */
  readonly address?: string;
}

const ADDRESS = "wss://speech.platform.bing.com/consumer/speech/synthesize/readaloud/edge/v1";

const client = lazy(() => import("./edge-client.ts"));

export function createEdge({ settings, timeoutMs, clock, address = ADDRESS }: EdgeParts): SpeechEngine {
  return {
    label: "Edge",
    models: [],
    missing: async () => (settings().enabled ? undefined : "set messages.tts.edge.enabled to true"),
    async speak({ text, voice, language, settings: wished = {} }, signal) {
      const own = settings();
      const speed = Number(wished["speed"]);
      const rate = speed >= 0.5 && speed <= 2 ? percent(speed) : own.rate;
      const asked = {
        text,
        voice: voice ?? own.voice,
        lang: language ?? own.lang,
        outputFormat: own.outputFormat,
        ...(own.pitch === undefined ? {} : { pitch: own.pitch }),
        ...(rate === undefined ? {} : { rate }),
        ...(own.volume === undefined ? {} : { volume: own.volume }),
        ...(own.proxy === undefined ? {} : { proxy: own.proxy }),
        withWords: own.saveSubtitles,
      };
      const { speakWithEdge } = await client();
      return speakWithEdge(asked, { address, clock, signal, timeoutMs: own.timeoutMs ?? timeoutMs() });
    },
  };
}

function percent(speed: number): string {
  const value = Math.round((speed - 1) * 100);
  return `${value < 0 ? "" : "+"}${value}%`;
}
