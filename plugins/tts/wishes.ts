/** What a model may set for its own text. Pure. Spec: http/config-keys.md `messages.tts.modelOverrides.*`. */
import type { SpeechJob } from "@svc/sdk/speech";
import type { TtsConfig } from "./config.ts";

type Overrides = TtsConfig["modelOverrides"];
type Value = string | number | boolean;

/** Names of voice settings in tags, in lower case, and their names in a request. */
const VOICE_SETTINGS: Readonly<Record<string, string>> = {
  stability: "stability",
  similarityboost: "similarityBoost",
  style: "style",
  usespeakerboost: "useSpeakerBoost",
  speed: "speed",
};

/** Settings in tags that are allowed and valid; others are ignored. */
export function wishesOf(
  given: Readonly<Record<string, string>>,
  allowed: Overrides,
): Pick<SpeechJob, "engine" | "wishes"> {
  if (!allowed.enabled) return {};
  const { provider, voice = given["voiceid"], model = given["modelid"] } = given;
  const settings: Record<string, Value> = {};
  if (allowed.allowVoiceSettings)
    for (const [tag, name] of Object.entries(VOICE_SETTINGS))
      if (given[tag] !== undefined) settings[name] = valueOf(given[tag]);
  const normalization = given["applytextnormalization"] ?? given["normalize"];
  if (allowed.allowNormalization && ["auto", "on", "off"].includes(normalization ?? ""))
    settings["applyTextNormalization"] = String(normalization);
  const seed = Number(given["seed"]);
  if (allowed.allowSeed && Number.isInteger(seed) && seed >= 0 && seed <= 4_294_967_295) settings["seed"] = seed;
  const language = given["language"] ?? given["languagecode"];
  const isLanguage = language !== undefined && /^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i.test(language);
  return {
    ...(allowed.allowProvider && provider !== undefined ? { engine: provider.toLowerCase() } : {}),
    wishes: {
      ...(allowed.allowVoice && isName(voice) ? { voice } : {}),
      ...(allowed.allowModelId && isName(model) ? { model } : {}),
      ...(allowed.allowNormalization && isLanguage ? { language } : {}),
      ...(Object.keys(settings).length === 0 ? {} : { settings }),
    },
  };
}

function isName(text: string | undefined): text is string {
  return text !== undefined && /^[\w.:-]{1,100}$/.test(text);
}

function valueOf(text: string): Value {
  if (text === "true" || text === "false") return text === "true";
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}
