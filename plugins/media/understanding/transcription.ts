/** The `Transcription` service: tries the configured engines in order. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type SoundFormat, sniffSound } from "@svc/kit/media";
import { AnySignal, type Slots } from "@svc/kit/time";
import { type Clock, type GatewayError, invalidRequest, unavailable } from "@svc/sdk";
import type { Transcription } from "@svc/sdk/media";
import type { ModelAccounts, ProviderAccount } from "@svc/sdk/models";
import { revealSetting, type Secrets } from "@svc/sdk/secrets";
import type { AudioConfig, MediaConfig } from "../config.ts";
import { cutText } from "../documents/cut.ts";
import { type Ffmpeg, MAX_SOUND_SECONDS } from "../programs/ffmpeg.ts";
import type { Scratch } from "../programs/scratch.ts";
import { runCommand } from "./command.ts";
import { type Entry, isCommand, speechEntries } from "./entries.ts";
import { firstOf } from "./first-of.ts";
import { requireAllowed } from "./scope.ts";
import { askServer } from "./server.ts";

export interface TranscriptionSources {
  readonly config: () => MediaConfig;
  /** The section `audio`. */
  readonly older: () => AudioConfig;
  readonly accounts: () => ModelAccounts | undefined;
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  readonly ffmpeg: Ffmpeg;
  readonly scratch: Scratch;
  readonly slots: Slots;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

/** A sound file on disk. */
interface Recording {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** `undefined`: servers do not accept it as it is. */
  readonly format: SoundFormat | undefined;
  readonly canConvert: boolean;
}

const ADVICE =
  "no engine is configured; set tools.media.audio.models, e.g. [{ provider: <name in models.providers>, model: <its name> }], or a local program with type cli";

export function createTranscription(sources: TranscriptionSources): Transcription {
  return {
    async transcribe({ bytes }, caller, place) {
      const { clock } = sources;
      const config = sources.config();
      requireAllowed("audio", config, place);
      const { maxBytes } = config.audio;
      if (bytes.byteLength > maxBytes)
        invalidRequest(`${bytes.byteLength} bytes are too many: at most ${maxBytes} (tools.media.audio.maxBytes)`);
      const entries = speechEntries(config, sources.older(), bytes.byteLength);
      if (entries.length === 0) unavailable(ADVICE);
      const ending = new AnySignal(caller, sources.signal);
      try {
        return await sources.slots.use(ending.signal, () =>
          sources.scratch.use(async (directory) => {
            const recording = await recordingOf(bytes, directory, sources.ffmpeg, ending.signal);
            const attempts = { failed: "the speech was not transcribed", isFinal, clock, signal: ending.signal };
            return firstOf(entries, attempts, async (entry, inTime) => {
              const text = await hear(entry, recording, sources, inTime);
              return { text: cutText(text.trim(), entry.maxChars).text };
            });
          }),
        );
      } finally {
        ending.release();
      }
    },
  };
}

/** Every engine would refuse the file. */
const isFinal = ({ code }: GatewayError) => code === "INVALID_REQUEST";

/** Writes the file under a name of ours, and checks its length. @throws GatewayError `INVALID_REQUEST` */
async function recordingOf(
  bytes: Uint8Array,
  directory: string,
  ffmpeg: Ffmpeg,
  signal: AbortSignal,
): Promise<Recording> {
  const found = sniffSound(bytes);
  const path = join(directory, `input.${found?.ending ?? "bin"}`);
  await writeFile(path, bytes, { mode: 0o600 });
  const canConvert = await ffmpeg.isInstalled();
  let isVideo = false;
  if (canConvert) {
    const { seconds = 0, hasSound, hasPictures } = await ffmpeg.facts(path, signal);
    isVideo = hasPictures;
    if (!hasSound) invalidRequest("the file has no sound");
    if (seconds > MAX_SOUND_SECONDS)
      invalidRequest(`it has ${Math.round(seconds / 60)} minutes; at most ${MAX_SOUND_SECONDS / 60} are transcribed`);
  }
  return { path, bytes, format: isVideo ? undefined : found, canConvert };
}

async function hear(
  entry: Entry,
  { path, bytes, format, canConvert }: Recording,
  sources: TranscriptionSources,
  signal: AbortSignal,
): Promise<string> {
  const { ffmpeg } = sources;
  if (isCommand(entry.settings)) {
    // Choice: 16 kHz WAV, which every engine reads.
    const file = canConvert ? await ffmpeg.sound(path, "wav", signal) : path;
    return runCommand(entry, file, signal);
  }
  const { model, language } = entry.settings;
  const flac = async () => readFile(await ffmpeg.sound(path, "flac", signal));
  const sound = format
    ? { bytes, format }
    : { bytes: await flac(), format: { ending: "flac", mimeType: "audio/flac" } };
  const request = { ...sound, model, language, prompt: entry.prompt };
  return withAccount(entry, sources, signal, (account) => askServer(request, account, signal));
}

/** Uses the own address and key of the entry where they are set, and the account of its provider for the rest. */
async function withAccount(
  { settings }: Entry,
  { accounts, secrets }: TranscriptionSources,
  signal: AbortSignal,
  work: (account: ProviderAccount) => Promise<string>,
): Promise<string> {
  const { provider, baseUrl, apiKey, headers } = settings;
  const key = apiKey && (await revealSetting(apiKey, secrets(), "its key"));
  const own = { ...(baseUrl && { baseUrl }), ...(key && { apiKey: key }) };
  if (provider === undefined || (baseUrl !== undefined && key !== undefined))
    return work({ name: provider ?? "server", ...own, ...(headers && { headers }) });
  const models = accounts() ?? unavailable("the plugin models does not run");
  return models.use(
    provider,
    (account) => work({ ...account, ...own, headers: { ...account.headers, ...headers } }),
    signal,
  );
}
