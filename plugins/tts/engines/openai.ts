/** The engine `openai`: the speech API of OpenAI, and services with the same API. */
import type { SpeechEngine, SpokenAudio } from "@svc/sdk/speech";
import { spoken } from "../audio.ts";
import type { KeySource } from "./api-key.ts";
import { type Fetch, fetchAudio } from "./http-audio.ts";
import type { TtsConfig } from "../config.ts";

export interface OpenAiParts {
  readonly settings: () => TtsConfig["openai"];
  readonly key: KeySource;
  readonly fetch?: Fetch;
}

const SETTING = "messages.tts.openai.apiKey";
/** Spec: protocol/methods-tts.md. */
const MODELS = ["gpt-4o-mini-tts", "tts-1", "tts-1-hd"];
const VOICES = [
  "alloy",
  "ash",
  "ballad",
  "cedar",
  "coral",
  "echo",
  "fable",
  "juniper",
  "marin",
  "onyx",
  "nova",
  "sage",
  "shimmer",
  "verse",
];

export function createOpenAi({ settings, key, fetch = globalThis.fetch }: OpenAiParts): SpeechEngine {
  return {
    label: "OpenAI",
    models: MODELS,
    voices: VOICES,
    missing: async () => (key.isSet() ? undefined : `set ${SETTING} or the variable OPENAI_API_KEY`),
    async speak({ text, format, voice, model, settings: wished = {} }, signal): Promise<SpokenAudio> {
      const { baseUrl, ...own } = settings();
      const speed = Number(wished["speed"]);
      const body = {
        model: model ?? own.model,
        voice: voice ?? own.voice,
        input: text,
        response_format: format,
        ...(speed >= 0.25 && speed <= 4 ? { speed } : {}),
      };
      const headers = { authorization: `Bearer ${await key.reveal()}` };
      const url = `${baseUrl.replace(/\/+$/, "")}/audio/speech`;
      return spoken(
        await fetchAudio(fetch, { engine: "OpenAI", url, headers, body, keySetting: SETTING, signal }),
        "OpenAI",
      );
    },
  };
}
