/** A small `ConfigStore.edit` over a real file: one writer at a time, schema checked, renamed into place. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { describeViolations, invalidRequest, matches, withDefaults } from "@svc/sdk";
import type { ConfigAuthor, ConfigEdit, ConfigStore, ConfigWritten } from "@svc/sdk/config";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";

type Parsed = Record<string, unknown>;

export interface ConfigFile {
  readonly store: Pick<ConfigStore, "edit">;
  /** What is in the file. */
  read(): Promise<Parsed>;
  /** Who changed it, in order. */
  readonly authors: ConfigAuthor[];
}

/** @param applied is told the new section `agents`, as a running gateway is, before `edit` resolves */
export async function createConfigFile(
  path: string,
  first: object,
  applied: (config: AgentsConfig) => void,
): Promise<ConfigFile> {
  await writeFile(path, JSON.stringify(first));
  const authors: ConfigAuthor[] = [];
  const read = async () => JSON.parse(await readFile(path, "utf8")) as Parsed; // the file is ours
  let last: Promise<unknown> = Promise.resolve();

  async function change(author: ConfigAuthor, decide: Parameters<ConfigStore["edit"]>[1]): Promise<ConfigWritten> {
    const parsed = await read();
    const edits = decide(parsed);
    if (edits.length > 0) {
      const next = edits.reduce(withEdit, parsed);
      const section = withDefaults(AgentsConfig, next["agents"] ?? {});
      if (!matches(AgentsConfig, section)) invalidRequest(describeViolations(AgentsConfig, section));
      await writeFile(`${path}.new`, JSON.stringify(next));
      await rename(`${path}.new`, path);
      authors.push(author);
      applied(section);
    }
    return { path, hash: "", config: {}, changed: [], reload: edits.length > 0 ? "hot" : undefined };
  }

  return {
    authors,
    read,
    store: {
      edit(author, decide) {
        const done = last.then(() => change(author, decide));
        last = done.catch(() => undefined);
        return done;
      },
    },
  };
}

function withEdit(parsed: Parsed, { path, value }: ConfigEdit): Parsed {
  const copy = structuredClone(parsed);
  let holder = copy as Record<string | number, unknown>;
  for (const [index, key] of path.slice(0, -1).entries()) {
    holder[key] ??= typeof path[index + 1] === "number" ? [] : {};
    holder = holder[key] as typeof holder; // just put there, or of the same kind
  }
  const key = path.at(-1) ?? "";
  if (value !== undefined) holder[key] = value;
  else if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
  return copy;
}
