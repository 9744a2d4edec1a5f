/** A transforms directory and the transforms of a gateway; both are removed at the end of the test. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { Logger } from "@svc/sdk";
import { systemClock } from "../../../../host/clock.ts";
import type { PlannedTransform, TransformCall } from "@svc/sdk/webhooks";
import type { Transforms } from "../../../../plugins/webhooks/transforms/contract.ts";
import { createTransforms, type TransformsOptions } from "../../../../plugins/webhooks/transforms/transforms.ts";

/** Time limit for tests that wait for threads and the disk. */
export const LIMIT = { timeout: 120_000 };

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export interface Scene {
  /** `hooks/transforms` next to the configuration. */
  readonly root: string;
  readonly stateDir: string;
  write(path: string, text: string): string;
  remove(path: string): void;
  /** Stopped at the end of the test. */
  gateway(options?: Partial<TransformsOptions>): Transforms;
  /** A gateway configured with these references. */
  configured(refs: readonly PlannedTransform[], options?: Partial<TransformsOptions>): Promise<Transforms>;
}

export function scene(t: TestContext, files: Readonly<Record<string, string>> = {}): Scene {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "svc-transforms-")));
  const root = join(base, "config", "hooks", "transforms");
  const stateDir = join(base, "state");
  const opened: Transforms[] = [];
  t.after(async () => {
    for (const transforms of opened) await transforms.stop();
    rmSync(base, { recursive: true, force: true });
  });
  mkdirSync(root, { recursive: true });
  mkdirSync(stateDir);
  const made: Scene = {
    root,
    stateDir,
    write(path, text) {
      const file = join(root, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    remove: (path) => rmSync(join(root, path), { recursive: true, force: true }),
    gateway(options = {}) {
      const transforms = createTransforms({ stateDir, clock: systemClock, log: silent, ...options });
      opened.push(transforms);
      return transforms;
    },
    async configured(refs, options) {
      const transforms = made.gateway(options);
      await transforms.configure({ root, directory: root, refs });
      return transforms;
    },
  };
  for (const [path, text] of Object.entries(files)) made.write(path, text);
  return made;
}

export const callOf = (payload: unknown, more: Partial<TransformCall> = {}): TransformCall => ({
  payload,
  headers: {},
  url: "http://localhost/hooks/a?x=1",
  path: "a",
  ...more,
});

/** Result of the transform for a payload. */
export async function resultOf(transforms: Transforms, ref: PlannedTransform, payload: unknown = {}): Promise<unknown> {
  const outcome = await transforms.run(ref, callOf(payload));
  assert.equal(outcome.kind, "result");
  return outcome.kind === "result" ? outcome.value : undefined;
}

/** Resolves when the condition holds; checks again after each change. */
export async function until(transforms: Transforms, holds: () => boolean | Promise<boolean>): Promise<void> {
  let wake = () => {};
  const stop = transforms.onChange(() => wake());
  try {
    for (;;) {
      const change = new Promise<void>((resolve) => (wake = resolve));
      if (await holds()) return;
      await change;
    }
  } finally {
    stop();
  }
}
