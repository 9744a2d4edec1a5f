/** The configuration section `messages.tts`. Spec: http/config-keys.md `messages.tts.*`. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }));
const textOr = (value: string, description: string) =>
  Type.String({ default: value, minLength: 1, maxLength: 200, description });
const URL = { pattern: "^https?://" };
const part = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1, description }));
const milliseconds = { minimum: 1_000, maximum: 120_000 };
const allowed = (value: boolean, description: string) => Type.Boolean({ default: value, description });

const ModelOverrides = Strict(
  {
    enabled: allowed(true, "false: settings and words in tags of the model have no effect"),
    allowText: allowed(true, "the model may give other words to speak than the shown text"),
    allowProvider: allowed(false, "the model may select the engine"),
    allowVoice: allowed(true, "the model may select the voice"),
    allowModelId: allowed(true, "the model may select the speech model"),
    allowVoiceSettings: allowed(true, "the model may set speed, stability and the like"),
    allowNormalization: allowed(true, "the model may set the language and the reading of numbers"),
    allowSeed: allowed(true, "the model may set the seed"),
  },
  { default: {}, description: "What a model may set for its own text with tags such as [[tts:voice=nova]]" },
);

const ElevenLabs = Strict(
  {
    apiKey: Type.Optional(
      SecretSetting({ description: "Key, or a reference to it; default: the variable ELEVENLABS_API_KEY" }),
    ),
    baseUrl: Type.String({ ...URL, default: "https://api.elevenlabs.io", description: "Address of the service" }),
    voiceId: textOr("pMsXgVXv3BLzUgSXRplE", "Id of the voice"),
    modelId: textOr("eleven_multilingual_v2", "Speech model"),
    seed: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 4_294_967_295, description: "Makes the same text sound the same" }),
    ),
    applyTextNormalization: Type.Optional(
      Type.Enum(["auto", "on", "off"], { description: "Whether numbers and the like are spelled out first" }),
    ),
    languageCode: text("Language, two letters"),
    voiceSettings: Strict(
      {
        stability: part("How even the voice is, 0 to 1"),
        similarityBoost: part("How close it is to the original voice, 0 to 1"),
        style: part("How much its style is exaggerated, 0 to 1"),
        useSpeakerBoost: Type.Optional(Type.Boolean({ description: "Closer to the original voice, but slower" })),
        speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2, description: "1: normal" })),
      },
      { default: {} },
    ),
  },
  { default: {}, description: "The engine elevenlabs" },
);

const OpenAi = Strict(
  {
    apiKey: Type.Optional(
      SecretSetting({ description: "Key, or a reference to it; default: the variable OPENAI_API_KEY" }),
    ),
    baseUrl: Type.String({
      ...URL,
      default: "https://api.openai.com/v1",
      description: "Address of a service with the same API",
    }),
    model: textOr("gpt-4o-mini-tts", "Speech model"),
    voice: textOr("alloy", "Voice"),
  },
  { default: {}, description: "The engine openai" },
);

const Edge = Strict(
  {
    enabled: Type.Boolean({ default: true, description: "false: no text is sent to this service" }),
    voice: textOr("en-US-MichelleNeural", "Voice"),
    lang: textOr("en-US", "Language of the text"),
    outputFormat: textOr("audio-24khz-48kbitrate-mono-mp3", "Format of the service; MP3 or Ogg"),
    pitch: text("E.g. +5Hz"),
    rate: text("E.g. +10%"),
    volume: text("E.g. -20%"),
    saveSubtitles: Type.Boolean({ default: false, description: "Writes the times of the words beside the audio file" }),
    proxy: Type.Optional(Type.String({ ...URL, description: "Address of an HTTP proxy" })),
    timeoutMs: Type.Optional(
      Type.Integer({
        ...milliseconds,
        description: "Milliseconds for one text, if less than messages.tts.timeoutMs, which is the default",
      }),
    ),
  },
  { default: {}, description: "The engine edge" },
);

/** Section `messages.tts`. Changes take effect with the next text. */
export const TtsConfig = Strict(
  {
    auto: Type.Optional(
      Type.Enum(["off", "always", "inbound", "tagged"], {
        description: "Which answers are spoken: none; all; answers to voice messages; or those that the model marks",
      }),
    ),
    enabled: Type.Optional(Type.Boolean({ description: "Older form of auto: true is always" })),
    mode: Type.Enum(["final", "all"], {
      default: "final",
      description: "What is spoken: answers; or (all) also texts that agents send without a question",
    }),
    provider: text("Engine: openai, elevenlabs, edge, espeak, or an engine of a plugin; default: the first with a key"),
    summaryModel: text("Model that shortens long texts; default: the default model"),
    modelOverrides: ModelOverrides,
    elevenlabs: ElevenLabs,
    openai: OpenAi,
    edge: Edge,
    espeak: Strict({ voice: textOr("en", "Voice, e.g. de") }, { default: {}, description: "The engine espeak" }),
    prefsPath: Type.Optional(
      Type.String({ minLength: 1, description: "File of the preferences; default: settings/tts.json" }),
    ),
    maxTextLength: Type.Integer({
      default: 4_096,
      minimum: 1,
      maximum: 100_000,
      description: "Characters of one text",
    }),
    timeoutMs: Type.Integer({
      ...milliseconds,
      default: 30_000,
      description: "Milliseconds for one text in one engine; all engines together get twice as long",
    }),
  },
  { reload: "hot", order: 85 },
);
export type TtsConfig = Static<typeof TtsConfig>;
