/** The configuration sections `tools.media` and `audio`. Spec: http/config-keys.md `tools.media`, `audio`. */
import { NonEmpty, type Static, Strict, type TProperties, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

const count = (value: number, description: string) => Type.Integer({ default: value, minimum: 1, description });
const limit = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const seconds = (value: number, description: string) =>
  Type.Integer({ default: value, minimum: 1, maximum: 3_600, description });
const action = (description: string) => Type.Enum(["allow", "deny"], { description });

/** Which sessions the setting applies to. Choice: the same rules as `session.sendPolicy`. */
const Scope = Type.Optional(
  Strict({
    default: Type.Optional(action("where no rule matches; default allow")),
    rules: Type.Optional(
      Type.Array(
        Strict({
          action: action("where the rule matches; a matching deny always wins"),
          match: Type.Optional(
            Strict({
              channel: text("id of the channel, in any case; default: every channel"),
              chatType: Type.Optional(
                Type.Enum(["direct", "dm", "group", "channel"], {
                  description: "chat type; dm: old name of direct; default: every type",
                }),
              ),
              keyPrefix: text("prefix of the session key, with or without its agent:<id>:"),
              rawKeyPrefix: text("prefix of the whole session key"),
            }),
          ),
        }),
        { description: "exceptions from the default" },
      ),
    ),
  }),
);
export type Scope = NonNullable<Static<typeof Scope>>;

const Headers = Type.Optional(
  Type.Record(Type.String(), Type.String({ sensitive: true }), { description: "Sent with every request" }),
);
const BaseUrl = Type.Optional(
  Type.String({ pattern: "^https?://", description: "Address of the server; default: that of the provider" }),
);

/** What every entry of a list of models has. */
const ENTRY = {
  type: Type.Optional(
    Type.Enum(["provider", "cli"], { description: "cli: run `command`; default: cli if there is a command" }),
  ),
  provider: text("name in models.providers"),
  model: text("the provider's name of the model"),
  command: text("program of a cli entry: a name on PATH, or an absolute path"),
  args: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "arguments; {{MediaPath}}, {{Prompt}}, {{Language}}, {{MaxChars}}, {{OutputDir}} and {{OutputBase}} are replaced; default: {{MediaPath}}",
    }),
  ),
  prompt: text("overrides the prompt of the section"),
  maxBytes: limit("the entry is skipped for a larger file"),
  maxChars: limit("characters of its text, the rest is cut; default: as the section"),
  timeoutSeconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 3_600, description: "seconds for one file; default: as the section" }),
  ),
} satisfies TProperties;

/** What entries for speech have in addition. */
const SPEECH_ENTRY = {
  baseUrl: BaseUrl,
  apiKey: Type.Optional(
    SecretSetting({ description: "key, or a reference to it; default: the account of the provider" }),
  ),
  headers: Headers,
  language: text("overrides the language of the section"),
} satisfies TProperties;

const ImageEntry = Strict(ENTRY);
const AudioEntry = Strict({ ...ENTRY, ...SPEECH_ENTRY });
const SharedEntry = Strict({
  ...ENTRY,
  ...SPEECH_ENTRY,
  capabilities: Type.Optional(
    Type.Array(Type.Enum(["image", "audio", "video"]), {
      description: "what the entry is for; default: image and audio",
    }),
  ),
});
export type AudioEntry = Static<typeof AudioEntry>;
export type ImageEntry = Static<typeof ImageEntry>;

const enabled = (description: string) => Type.Boolean({ default: true, description });

const Audio = Strict(
  {
    enabled: enabled("Speech in messages is transcribed, if an engine is configured"),
    scope: Scope,
    maxBytes: count(20_000_000, "Bytes of one file; default 20000000"),
    maxChars: count(20_000, "Characters of a transcript, the rest is cut; default 20000"),
    timeoutSeconds: seconds(60, "Seconds for one file and engine; default 60"),
    language: text("Language of the speech, e.g. de; default: the engine detects it"),
    prompt: text("Passed to the engine, e.g. names that occur; default none"),
    baseUrl: BaseUrl,
    headers: Headers,
    models: Type.Array(AudioEntry, { default: [], description: "Engines, tried in this order; then `models`" }),
  },
  { default: {} },
);

const Image = Strict(
  {
    enabled: enabled(
      "Pictures are described for models that accept none, by `models` or agents.defaults.imageModel, if one is configured",
    ),
    scope: Scope,
    maxBytes: count(10_000_000, "Bytes of one picture; default 10000000"),
    maxChars: count(4_000, "Characters of a description, the rest is cut; default 4000"),
    timeoutSeconds: seconds(60, "Seconds for one picture and model; default 60"),
    prompt: text("What the model is asked about the picture; default: a built-in text"),
    models: Type.Array(ImageEntry, {
      default: [],
      description: "Tried in this order; then `models`, then agents.defaults.imageModel",
    }),
  },
  { default: {} },
);

const Video = Strict(
  {
    enabled: enabled("Videos in messages become pictures and the text of their sound; needs ffmpeg"),
    scope: Scope,
    maxBytes: count(50_000_000, "Bytes of one file; default 50000000"),
    timeoutSeconds: seconds(60, "Seconds for the pictures of one video; default 60"),
    maxFrames: Type.Integer({ default: 4, minimum: 1, maximum: 8, description: "Pictures of one video; default 4" }),
  },
  { default: {} },
);

/** Changes take effect at the next call. */
export const MediaConfig = Strict(
  {
    model: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Model of the tools image and pdf, regardless of the call: provider/id, or an alias; default: the model of the call, else agents.defaults.imageModel or pdfModel, else the default model, else the first that accepts images",
      }),
    ),
    maxBytes: count(10_485_760, "Bytes of one picture or document of a tool; default 10485760"),
    maxChars: count(200_000, "Characters of text of all documents of one call, the rest is cut; default 200000"),
    timeoutSeconds: seconds(120, "Seconds for one call of a tool, the model's answer included; default 120"),
    pdf: Strict(
      {
        maxPages: count(20, "Pages of all documents of one call; default 20"),
        maxPixels: count(4_000_000, "Width times height of a page drawn as a picture; default 4000000"),
        minTextChars: Type.Integer({
          default: 200,
          minimum: 0,
          description:
            "Characters; the pages of a document with less text are drawn as pictures; default 200, 0: never",
        }),
      },
      { default: {} },
    ),
    concurrency: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 16,
      description: "Files that are transcribed, described or taken apart at the same time; default 2",
    }),
    models: Type.Array(SharedEntry, { default: [], description: "Entries for several kinds of files" }),
    image: Image,
    audio: Audio,
    video: Video,
  },
  { reload: "hot", order: 130 },
);
export type MediaConfig = Static<typeof MediaConfig>;

/** Section `audio`: the older form of a cli entry, tried last. */
export const AudioConfig = Strict(
  {
    transcription: Type.Optional(
      Strict({
        command: Type.Array(NonEmpty, {
          minItems: 1,
          description:
            "Program and arguments that print the words of {{MediaPath}}; as tools.media.audio.models[].args",
        }),
        timeoutSeconds: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 3_600, description: "Seconds for one file; default: tools.media.audio" }),
        ),
      }),
    ),
  },
  { reload: "hot" },
);
export type AudioConfig = Static<typeof AudioConfig>;
