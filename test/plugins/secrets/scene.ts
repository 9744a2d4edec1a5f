/** Parts that several tests of the plugin share: providers, sources, a log that is read, a clock. */
import { writeFile } from "node:fs/promises";
import type { Contribution, ExtensionView, Logger } from "@svc/sdk";
import type { SecretProvider, SecretSource } from "@svc/sdk/secrets";

export function providerWith(settings: Readonly<Record<string, unknown>> = {}, name = "vault"): SecretProvider {
  return { name, settings };
}

/** Writes a Node program; `answer` is its code, which finds the request in `asked` and the standard input in `input`. */
export async function program(path: string, answer: string): Promise<string> {
  const code = [
    `#!${process.execPath}`,
    "let input = '';",
    "process.stdin.on('data', (chunk) => (input += chunk)).on('end', () => {",
    "  const asked = JSON.parse(input);",
    answer,
    "});",
  ];
  await writeFile(path, code.join("\n"), { mode: 0o700 });
  return path;
}

/** A log and what was written to it. */
export function notedLog(): {
  readonly log: Logger;
  readonly lines: { level: string; fields: object; message: string }[];
} {
  const lines: { level: string; fields: object; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

/** An extension point with these contributions. */
export function viewOf(sources: Readonly<Record<string, SecretSource>>): ExtensionView<SecretSource> {
  const all: Contribution<SecretSource>[] = Object.entries(sources).map(([id, value]) => ({
    id,
    plugin: "other",
    value,
  }));
  return {
    list: () => all,
    get: (id) => all.find((contribution) => contribution.id === id),
    call: ({ value }, work) => work(value),
  };
}

/** A source that finds `<id>-value` for every id except `no-...`. */
export function simpleSource(change: Partial<SecretSource> = {}): SecretSource {
  return {
    check: () => undefined,
    checkId: () => undefined,
    resolve: (_provider, ids) =>
      Promise.resolve(new Map(ids.filter((id) => !id.startsWith("no-")).map((id) => [id, `${id}-value`]))),
    ...change,
  };
}

/** Real time, for programs and files that are real. */
export const systemClock = {
  setTimeout(callback: () => void, ms: number): () => void {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
