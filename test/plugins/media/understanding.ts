/** Parts that read sounds, pictures and videos, without a gateway. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createSlots } from "@svc/kit/time";
import { type Clock, withDefaults } from "@svc/sdk";
import type { ModelAccounts, Models } from "@svc/sdk/models";
import { AudioConfig, MediaConfig } from "../../../plugins/media/config.ts";
import { refuseMore } from "../../../plugins/media/documents/pdf-reader.ts";
import { createFfmpeg, type Ffmpeg } from "../../../plugins/media/programs/ffmpeg.ts";
import { createScratch } from "../../../plugins/media/programs/scratch.ts";
import { createDescriptions } from "../../../plugins/media/understanding/descriptions.ts";
import { createFrames } from "../../../plugins/media/understanding/frames.ts";
import { createTranscription } from "../../../plugins/media/understanding/transcription.ts";

export interface PartsOptions {
  /** Section `tools.media`. */
  readonly config?: object;
  /** Section `audio`. */
  readonly older?: object;
  readonly accounts?: ModelAccounts;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly models?: Models;
  readonly imageModels?: readonly string[];
  readonly ffmpeg?: Ffmpeg;
  readonly clock?: Pick<Clock, "now" | "setTimeout">;
}

const realClock: Pick<Clock, "now" | "setTimeout"> = {
  now: () => Date.now(),
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

export function parts(t: TestContext, options: PartsOptions = {}) {
  const root = mkdtempSync(join(tmpdir(), "svc-media-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  let config = withDefaults(MediaConfig, options.config ?? {});
  const older = withDefaults(AudioConfig, options.older ?? {});
  const stopping = new AbortController();
  const clock = options.clock ?? realClock;
  const scratch = createScratch(() => join(root, "files"), clock);
  const sources = {
    config: () => config,
    older: () => older,
    accounts: () => options.accounts,
    secrets: () =>
      options.secrets && {
        reveal: async (setting: string | { readonly id: string }) =>
          typeof setting === "string" ? setting : (options.secrets?.[setting.id] ?? ""),
      },
    models: () => options.models,
    imageModels: () => options.imageModels ?? [],
    ffmpeg: options.ffmpeg ?? createFfmpeg(),
    scratch,
    slots: createSlots(() => config.concurrency, 50, refuseMore),
    clock,
    signal: stopping.signal,
  };
  return {
    transcription: createTranscription(sources),
    descriptions: createDescriptions(sources),
    frames: createFrames(sources),
    ffmpeg: sources.ffmpeg,
    scratch,
    root,
    stop: () => stopping.abort(new Error("stopped")),
    reconfigure: (next: object) => void (config = withDefaults(MediaConfig, next)),
    /** Names of files that are left. */
    left: () => readdirSync(root, { recursive: true }).filter((name) => name !== "files"),
  };
}

/** A machine without ffmpeg. */
export const NO_FFMPEG: Ffmpeg = createFfmpeg(() => ({ path: "/nowhere", platform: process.platform }));
