/** The engine `elevenlabs`: the speech API of ElevenLabs. */
import type { SpeechEngine, SpeechFormat, SpeechRequest } from "@svc/sdk/speech";
import { spoken } from "../audio.ts";
import type { KeySource } from "./api-key.ts";
import { type Fetch, fetchAudio } from "./http-audio.ts";
import type { TtsConfig } from "../config.ts";

type Settings = TtsConfig["elevenlabs"];

export interface ElevenLabsParts {
  readonly settings: () => Settings;
  readonly key: KeySource;
  readonly fetch?: Fetch;
}

const SETTING = "messages.tts.elevenlabs.apiKey";
/** Spec: protocol/methods-tts.md. */
const MODELS = ["eleven_multilingual_v2", "eleven_turbo_v2_5", "eleven_monolingual_v1"];
const OUTPUT: Readonly<Record<SpeechFormat, string>> = {
  opus: "opus_48000_64",
  mp3: "mp3_44100_128",
  wav: "mp3_44100_128", // the API has no WAV
};

export function createElevenLabs({ settings, key, fetch = globalThis.fetch }: ElevenLabsParts): SpeechEngine {
  return {
    label: "ElevenLabs",
    models: MODELS,
    missing: async () => (key.isSet() ? undefined : `set ${SETTING} or the variable ELEVENLABS_API_KEY`),
    async speak(request, signal) {
      const own = settings();
      const url = new URL(`${own.baseUrl.replace(/\/+$/, "")}/v1/text-to-speech/`);
      url.pathname += encodeURIComponent(request.voice ?? own.voiceId);
      url.searchParams.set("output_format", OUTPUT[request.format]);
      const headers = { "xi-api-key": await key.reveal() };
      const body = bodyOf(request, own, request.model ?? own.modelId);
      const asked = { engine: "ElevenLabs", url: url.href, headers, body, keySetting: SETTING, signal };
      return spoken(await fetchAudio(fetch, asked), "ElevenLabs");
    },
  };
}

function bodyOf({ text, language, settings: wished = {} }: SpeechRequest, own: Settings, model: string): object {
  const { stability, similarityBoost, style, useSpeakerBoost, speed } = { ...own.voiceSettings, ...wished };
  const voiceSettings = present({
    stability: within(stability, 0, 1),
    similarity_boost: within(similarityBoost, 0, 1),
    style: within(style, 0, 1),
    use_speaker_boost: typeof useSpeakerBoost === "boolean" ? useSpeakerBoost : undefined,
    speed: within(speed, 0.5, 2),
  });
  return present({
    text,
    model_id: model,
    seed: within(wished["seed"] ?? own.seed, 0, 4_294_967_295),
    apply_text_normalization: wished["applyTextNormalization"] ?? own.applyTextNormalization,
    language_code: language ?? own.languageCode,
    voice_settings: Object.keys(voiceSettings).length === 0 ? undefined : voiceSettings,
  });
}

function within(value: unknown, least: number, most: number): number | undefined {
  return typeof value === "number" && value >= least && value <= most ? value : undefined;
}

function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
