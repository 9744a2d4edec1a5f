/** A library of skills on a real directory. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Origin, withDefaults } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { SkillsConfig } from "../../../plugins/skills/config.ts";
import { Library } from "../../../plugins/skills/library/library.ts";
import { directory, put } from "../../directory.ts";

export interface LibraryOptions {
  readonly config?: object;
  readonly allowed?: readonly string[];
  readonly env?: Record<string, string>;
  /** Origin of files below the workspace. */
  readonly origin?: (names: readonly string[]) => Origin | undefined;
  readonly snapshot?: object;
}

export const text = (name: string, more = "", body = `Instructions of ${name}.`) =>
  `---\nname: ${name}\ndescription: About ${name}.\n${more}---\n\n${body}\n`;

export function openLibrary(t: TestContext, options: LibraryOptions = {}) {
  const base = directory(t, "svc-skills-");
  const [stateDir, workspace, home, bundled] = ["state", "state/workspace", "home", "bundled"].map((name) =>
    join(base, name),
  ) as [string, string, string, string];
  for (const path of [stateDir, workspace, home, bundled]) mkdirSync(path, { recursive: true });
  const clock = createFakeClock();
  const state = { config: withDefaults(SkillsConfig, options.config ?? {}) as SkillsConfig };
  const library = new Library({
    agents: {
      defaultId: "main",
      list: () => [{ id: "main", isDefault: true, workspace }],
      skills: () => options.allowed,
    },
    config: () => state.config,
    stateDir: () => stateDir,
    origins: () => ({ of: async (_agentId, names) => options.origin?.(names) }),
    store: () => ({ snapshot: async () => ({ config: options.snapshot ?? {} }) as never }), // only `config` is read
    clock,
    env: options.env ?? { PATH: "/usr/bin:/bin" },
    home,
    bundled,
  });
  const roots = {
    bundled,
    managed: join(stateDir, "skills"),
    personal: join(home, ".agents/skills"),
    project: join(workspace, ".agents/skills"),
    workspace: join(workspace, "skills"),
  };
  /** Writes a skill into one of the directories. */
  const add = (root: keyof typeof roots, name: string, more = "", body?: string) => {
    const folder = join(roots[root], name);
    put(join(folder, "SKILL.md"), text(name, more, body));
    return folder;
  };
  return { base, stateDir, workspace, home, roots, clock, state, library, add };
}
