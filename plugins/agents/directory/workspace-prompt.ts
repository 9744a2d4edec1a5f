/** The part of the prompt that comes from an agent's workspace. */
import { readWithin, statWithin } from "@svc/kit/files";
import type { Clock, Logger } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { ConfiguredAgents } from "./directory.ts";
import { prepareWorkspace } from "./workspace-seed.ts";

/**
 * In the order they stand in the prompt; of the two memory files the first with words: while a command runs in a sandbox, an
 * empty file holds the place of one that is not there.
 * Choice: `BOOTSTRAP.md` too while somebody has it there, since it would do nothing otherwise.
 */
const PROMPT_FILES = [
  ["AGENTS.md"],
  ["SOUL.md"],
  ["TOOLS.md"],
  ["IDENTITY.md"],
  ["USER.md"],
  ["BOOTSTRAP.md"],
  ["MEMORY.md", "memory.md"],
];

/** UTF-8 bytes that surely hold one character (UTF-16 unit). */
const BYTES_PER_CHAR = 3;

interface CachedFile {
  readonly version: string;
  readonly text: string;
  readonly isCut: boolean;
}

/** Characters (UTF-16 units) the prompt may have: of one file, and of all of them without headings. */
export interface PromptLimits {
  readonly bootstrapMaxChars: number;
  readonly bootstrapTotalMaxChars: number;
}

/**
 * Headings, contents and marks where something was cut. Files without words are left out.
 * @param files by name, in order @returns "" when there is nothing to say
 */
export function composePrompt(
  files: readonly { readonly name: string; readonly text: string; readonly isCut: boolean }[],
  { bootstrapMaxChars, bootstrapTotalMaxChars }: PromptLimits,
): string {
  let left = bootstrapTotalMaxChars;
  const parts: string[] = [];
  for (const { name, text, isCut } of files) {
    const whole = text.trim();
    if (whole === "") continue;
    const kept = cut(whole, Math.min(bootstrapMaxChars, left), "");
    left -= kept.length;
    const isShort = isCut || kept.length < whole.length;
    const mark = kept === "" ? `[${name} is left out: the prompt is full]` : `[... ${name} is cut here]`;
    parts.push(`## ${name}\n\n${[kept, ...(isShort ? [mark] : [])].filter(Boolean).join("\n")}`);
  }
  return parts.length === 0 ? "" : ["# Files of your workspace", ...parts].join("\n\n");
}

/**
 * The prompt of an agent's workspace, made with its first files when it is not there. Files are read again when they
 * changed. What may not or cannot be read is logged and left out: a run does not fail for it.
 */
export function createWorkspacePrompt(agents: ConfiguredAgents, log: Pick<Logger, "warn">) {
  const cache = new Map<string, CachedFile>();

  async function read(workspace: string, name: string, maxChars: number): Promise<CachedFile | undefined> {
    const key = `${workspace}\0${name}`;
    try {
      const stats = await statWithin(workspace, name);
      if (!stats) return void cache.delete(key);
      const version = [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs, maxChars].join(":");
      const known = cache.get(key);
      if (known?.version === version) return known;
      const file = await readWithin(workspace, name, maxChars * BYTES_PER_CHAR);
      if (!file) return void cache.delete(key);
      const fresh = { version, text: file.bytes.toString("utf8"), isCut: file.isCut };
      cache.set(key, fresh);
      return fresh;
    } catch (error) {
      cache.delete(key);
      log.warn({ err: error, workspace, file: name }, "a workspace file is left out of the prompt");
      return undefined;
    }
  }

  return async function workspacePrompt(agentId: string): Promise<string> {
    const { workspace } = agents.settings(agentId);
    const { defaults } = agents.config;
    if (agents.has(agentId)) {
      await prepareWorkspace(workspace, defaults).catch((error: unknown) => {
        log.warn({ err: error, workspace }, "the workspace cannot be made; the run goes on without it");
      });
    }
    const files = await Promise.all(
      PROMPT_FILES.map(async (names) => {
        for (const name of names) {
          const file = await read(workspace, name, defaults.bootstrapMaxChars);
          if (file && file.text.trim() !== "") return [{ name, ...file }];
        }
        return [];
      }),
    );
    return composePrompt(files.flat(), defaults);
  };
}

/** Choice: milliseconds a prompt is shared; an edit made by hand is seen by runs that begin this much later. */
const FRESH_MS = 1_000;

export interface SharedPrompt {
  of(agentId: string): Promise<string>;
  /** To be called when files were written or agents changed: the next run reads again. */
  forget(): void;
}

/** One read of an agent's workspace for all runs that begin within a moment. @param read reads the files */
export function sharePrompts(read: (agentId: string) => Promise<string>, clock: Pick<Clock, "elapsed">): SharedPrompt {
  const prompts = new Map<string, { readonly at: number; readonly prompt: Promise<string> }>();
  return {
    of(agentId) {
      const known = prompts.get(agentId);
      const now = clock.elapsed();
      if (known && now - known.at < FRESH_MS) return known.prompt;
      const shared = { at: now, prompt: read(agentId) };
      prompts.set(agentId, shared);
      // The next run reads again; the caller of `of` gets the error.
      shared.prompt.catch(() => prompts.get(agentId) === shared && prompts.delete(agentId));
      return shared.prompt;
    },
    forget: () => prompts.clear(),
  };
}
