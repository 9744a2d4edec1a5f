/** Handlers of `skills.*`. Spec: protocol/methods-skills.md. */
import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Handlers, invalidRequest, lazy, notFound, unavailable } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import { valueAt } from "@svc/sdk/cli";
import type { ConfigStore } from "@svc/sdk/config";
import type { skills } from "@svc/sdk/skills";
import type { InstallerSources, InstallResult } from "./install/installer.ts";
import { obstacles } from "./library/eligibility.ts";
import { binsOf } from "./library/environment.ts";
import type { Library } from "./library/library.ts";
import { isSkillName } from "./library/manifest.ts";

/** Spec: methods-skills.md §3. */
const INSTALL_MS = { default: 300_000, most: 900_000 };

export interface MethodSources extends Omit<InstallerSources, "tools"> {
  readonly library: () => Promise<Library>;
  readonly agents: () => Pick<AgentDirectory, "list" | "defaultId">;
  readonly store: () => Pick<ConfigStore, "edit"> | undefined;
  /** Private directory of the plugin, on the same disk as the installed skills. */
  readonly workDir: () => string;
}

type Fields = Readonly<Record<string, unknown>>;

const loadInstaller = lazy(() => import("./install/installer.ts"));
const loadPackages = lazy(() => import("./install/packages.ts"));

export function createHandlers(sources: MethodSources): Handlers<typeof skills> {
  const { library, agents, store } = sources;
  let installer: ReturnType<Awaited<ReturnType<typeof loadInstaller>>["createInstaller"]> | undefined;

  return {
    async status({ params: { agentId = agents().defaultId } }) {
      const lib = await library();
      const { workspace, all, problems } = await lib.of(agentId);
      return {
        workspaceDir: workspace,
        managedSkillsDir: lib.managedDir,
        skills: all.map(({ status }) => status),
        problems: [...problems],
      };
    },

    async bins() {
      const lib = await library();
      const listings = await Promise.all(
        agents()
          .list()
          .map(({ id }) => lib.of(id)),
      );
      // Choice: skills that agents can write name no programs that a node then allows by itself.
      const named = listings.flatMap(({ all }) => all.filter(({ isWritable }) => !isWritable));
      return { bins: [...new Set(named.flatMap(({ skill }) => binsOf(skill)))].toSorted() };
    },

    async install({ params: { name, installId, timeoutMs = INSTALL_MS.default }, signal }) {
      const lib = await library();
      const { all } = await lib.of(agents().defaultId);
      const { createInstaller, notRun } = await loadInstaller();
      const failed = (message: string) => refused(notRun(message));
      const found = all.find((one) => one.skill.name === name);
      if (!found) return failed(`there is no skill ${JSON.stringify(name)}; see svc skills list`);
      const { skill, status } = found;
      const [obstacle] = obstacles(status);
      if (status.outside && obstacle) return failed(`the skill ${name}: ${obstacle.why}. Next: ${obstacle.next}`);
      const spec = skill.install.find(({ id }) => id === installId);
      if (!spec) {
        const ids = skill.install.map(({ id }) => id).join(", ") || "none";
        return failed(`the skill ${name} has no installer ${JSON.stringify(installId)}; it has: ${ids}`);
      }
      installer ??= createInstaller({ ...sources, tools: lib.tools });
      const request = { skillKey: skill.skillKey, spec, timeoutMs: Math.min(timeoutMs, INSTALL_MS.most), signal };
      const result = await installer(request);
      lib.forget();
      return result.ok ? result : refused(result);
    },

    async update({ params: { skillKey, enabled, apiKey, env = {} }, principal }) {
      if (["__proto__", "constructor", "prototype"].includes(skillKey))
        invalidRequest(`${skillKey} is not a key of a skill`);
      const config = store() ?? unavailable("the configuration cannot be written: this gateway has no file");
      let entry: Record<string, unknown> = {};
      await config.edit({ actor: principal.id, action: "skills.update" }, (parsed) => {
        const path = ["skills", "entries", skillKey];
        const former = fieldsOf(valueAt(parsed, path));
        const variables = changed(fieldsOf(former["env"]), env);
        entry = changed(former, { enabled, apiKey, env: Object.keys(variables).length > 0 ? variables : "" });
        return [{ path, value: entry }]; // also if nothing in it is set
      });
      return { ok: true, skillKey, config: entry };
    },

    async add({ params, signal }) {
      const lib = await library();
      const { addSkill } = await loadPackages();
      const { outbound, env, workDir } = sources;
      const about = await addSkill(params, { managedDir: lib.managedDir, workDir: workDir(), outbound, env }, signal);
      if (about.installed) lib.forget();
      return about;
    },

    async remove({ params: { name } }) {
      const lib = await library();
      const directory = join(lib.managedDir, name);
      const isThere = isSkillName(name) && (await lstat(directory).catch(() => undefined)) !== undefined;
      if (!isThere)
        notFound(
          `no skill ${JSON.stringify(name)} is installed in ${lib.managedDir}; svc skills list shows where skills are`,
        );
      const key = (await lib.installedKey(name)) ?? name;
      await rm(directory, { recursive: true, force: true });
      await rm(lib.tools.home(key), { recursive: true, force: true });
      lib.forget();
      return { ok: true, directory };
    },
  };
}

/** Sends the result in the same frame. Spec: methods-skills.md §3. */
function refused(payload: InstallResult): never {
  return unavailable(payload.message, { payload });
}

/** A copy with the changes: a blank text removes a value, `undefined` leaves it as it is. */
function changed(fields: Fields, changes: Fields): Record<string, unknown> {
  const result: Record<string, unknown> = { ...fields };
  for (const [key, value] of Object.entries(changes)) {
    const given = typeof value === "string" ? value.trim() : value;
    if (given === "") delete result[key];
    else if (given !== undefined) result[key] = given;
  }
  return result;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
