/** The programs of this machine that skills of the gateway name. Spec: protocol/methods-skills.md §2. */
import { type ProgramPlaces, resolveProgram } from "@svc/kit/exec";
import type { GatewayClient } from "@svc/sdk/client";
import { skills } from "@svc/sdk/skills";

/** Choice: milliseconds for which an answer is used, and maximum names in it. */
const FRESH_MS = 60_000;
const MAX_NAMES = 500;

export interface SkillProgramSources {
  /** The current connection. */
  readonly client: () => Pick<GatewayClient, "call"> | undefined;
  readonly places: ProgramPlaces;
  /** Default: the clock of the process. */
  readonly now?: () => number;
}

/** @returns a function for their absolute paths, links resolved; empty without a connection, or if the gateway has none */
export function createSkillPrograms({ client, places, now = Date.now }: SkillProgramSources) {
  let known: { readonly at: number; readonly files: Promise<readonly string[]> } | undefined;

  async function read(): Promise<readonly string[]> {
    const { bins } = (await client()?.call(skills.bins, {})) ?? { bins: [] };
    const names = bins.filter((name) => !name.includes("/")).slice(0, MAX_NAMES);
    const files = await Promise.all(names.map(async (name) => resolveProgram(name, "/", places)));
    return files.filter((file) => file !== undefined);
  }

  return async (): Promise<readonly string[]> => {
    if (!known || now() - known.at >= FRESH_MS) known = { at: now(), files: read() };
    const { files } = known;
    return files.catch(() => {
      known = undefined; // asked again for the next command
      return [];
    });
  };
}
