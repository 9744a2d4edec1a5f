/** The configured entries that read a kind of file, in the order in which they are tried. Pure. */
import type { AudioConfig, AudioEntry, ImageEntry, MediaConfig } from "../config.ts";

/** An entry with the settings of its section. */
export interface Entry {
  /** For people: what is tried, and the key where it is configured. */
  readonly name: string;
  readonly settings: AudioEntry;
  readonly maxChars: number;
  readonly timeoutMs: number;
  readonly prompt: string | undefined;
}

type Listed = readonly [key: string, settings: AudioEntry | ImageEntry];

const listed = (key: string, entries: readonly (AudioEntry | ImageEntry)[]): Listed[] =>
  entries.map((settings, index) => [`${key}[${index}]`, settings]);

function shared({ models }: MediaConfig, kind: "audio" | "image"): Listed[] {
  return listed("tools.media.models", models).filter((_, index) => {
    const { capabilities } = models[index] ?? {};
    return capabilities === undefined || capabilities.includes(kind);
  });
}

/** Whether the entry runs a command. */
export const isCommand = ({ type, command }: Pick<AudioEntry, "type" | "command">) =>
  type === "cli" || (type === undefined && command !== undefined);

function entryOf([key, settings]: Listed, section: MediaConfig["audio"] | MediaConfig["image"]): Entry {
  const { provider, model, command = "no command" } = settings;
  const what = isCommand(settings) ? command : [provider, model].filter(Boolean).join("/") || "server";
  return {
    name: `${what} (${key})`,
    settings,
    maxChars: settings.maxChars ?? section.maxChars,
    timeoutMs: (settings.timeoutSeconds ?? section.timeoutSeconds) * 1_000,
    prompt: settings.prompt ?? section.prompt,
  };
}

const fits =
  (bytes: number) =>
  ({ settings }: Entry) =>
    bytes <= (settings.maxBytes ?? Infinity);

/** Engines for speech. @param bytes of the file */
export function speechEntries(config: MediaConfig, { transcription }: AudioConfig, bytes: number): readonly Entry[] {
  const { baseUrl, headers, language, models } = config.audio;
  const own = { ...(baseUrl && { baseUrl }), ...(headers && { headers }), ...(language && { language }) };
  const [command, ...args] = transcription?.command ?? [];
  const { timeoutSeconds } = transcription ?? {};
  const older: Listed[] =
    command === undefined
      ? []
      : [["audio.transcription", { type: "cli", command, args, ...(timeoutSeconds && { timeoutSeconds }) }]];
  return [...listed("tools.media.audio.models", models), ...shared(config, "audio"), ...older]
    .map(([key, settings]): Listed => [key, { ...own, ...settings }])
    .map((entry) => entryOf(entry, config.audio))
    .filter(fits(bytes));
}

/** Models for pictures. @param refs of `agents.defaults.imageModel` */
export function imageEntries(config: MediaConfig, refs: readonly string[], bytes: number): readonly Entry[] {
  const byAgents = refs.map((model): Listed => ["agents.defaults.imageModel", { model }]);
  return [...listed("tools.media.image.models", config.image.models), ...shared(config, "image"), ...byAgents]
    .map((entry) => entryOf(entry, config.image))
    .filter(fits(bytes));
}
