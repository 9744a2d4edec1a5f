/** Handlers of `skills.*`. Spec: protocol/methods-skills.md. */
import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Handlers, invalidRequest, lazy, notFound, unavailable } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { ConfigEdit, ConfigStore } from "@svc/sdk/config";
import type { skills } from "@svc/sdk/skills";
import type { InstallerSources, InstallResult } from "./install/installer.ts";
import type { PackageSources } from "./install/packages.ts";
import { binsOf } from "./library/environment.ts";
import type { Library } from "./library/library.ts";

/** Spec: methods-skills.md §3. */
const INSTALL_MS = { default: 300_000, most: 900_000 };

export interface MethodSources {
  readonly library: () => Promise<Library>;
  readonly agents: () => Pick<AgentDirectory, "list" | "defaultId">;
  readonly store: () => Pick<ConfigStore, "edit"> | undefined;
  readonly installer: (library: Library) => Omit<InstallerSources, "tools">;
  readonly packages: (library: Library) => PackageSources;
}

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
      const skill = all.find((one) => one.skill.name === name)?.skill;
      if (!skill) return failed(`there is no skill ${JSON.stringify(name)}; see svc skills list`);
      const spec = skill.install.find(({ id }) => id === installId);
      if (!spec) {
        const ids = skill.install.map(({ id }) => id).join(", ") || "none";
        return failed(`the skill ${name} has no installer ${JSON.stringify(installId)}; it has: ${ids}`);
      }
      const { createInstaller } = await loadInstaller();
      installer ??= createInstaller({ ...sources.installer(lib), tools: lib.tools });
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
        entry = structuredClone(at(parsed, ["skills", "entries", skillKey]));
        const edits: ConfigEdit[] = [];
        const set = (path: readonly string[], value: unknown) =>
          void edits.push({ path: ["skills", "entries", skillKey, ...path], ...(value !== undefined && { value }) });
        if (enabled !== undefined) set(["enabled"], (entry["enabled"] = enabled));
        if (apiKey !== undefined) {
          const key = apiKey.trim() === "" ? undefined : apiKey.trim();
          if (key === undefined) delete entry["apiKey"];
          else entry["apiKey"] = key;
          set(["apiKey"], key);
        }
        if (Object.keys(env).length > 0) {
          const variables = { ...at(entry, ["env"]) };
          for (const [variable, value] of Object.entries(env)) {
            if (value.trim() === "") delete variables[variable];
            else variables[variable] = value.trim();
          }
          if (Object.keys(variables).length === 0) delete entry["env"];
          else entry["env"] = variables;
          set(["env"], entry["env"]);
        }
        // The entry is created even if nothing in it is set.
        return edits.length > 0 && Object.keys(entry).length > 0
          ? edits
          : [{ path: ["skills", "entries", skillKey], value: entry }];
      });
      return { ok: true, skillKey, config: entry };
    },

    async add({ params, signal }) {
      const lib = await library();
      const { addSkill } = await loadPackages();
      const about = await addSkill(params, sources.packages(lib), signal);
      if (about.installed) lib.forget();
      return about;
    },

    async remove({ params: { name } }) {
      const lib = await library();
      const { folderName } = await loadPackages();
      const directory = join(lib.managedDir, folderName(name));
      const isThere = (await lstat(directory).catch(() => undefined)) !== undefined;
      if (!isThere)
        notFound(
          `no skill ${JSON.stringify(name)} is installed in ${lib.managedDir}; svc skills list shows where skills are`,
        );
      const { workDir } = sources.packages(lib);
      await mkdir(workDir, { recursive: true, mode: 0o700 });
      const gone = join(workDir, `removed-${process.pid}-${performance.now()}`);
      await rename(directory, gone); // at once, so that nobody reads half of it
      await rm(gone, { recursive: true, force: true });
      await rm(lib.tools.home(name), { recursive: true, force: true });
      lib.forget();
      return { ok: true, directory };
    },
  };
}

function failed(message: string): never {
  return refused({ ok: false, message, stdout: "", stderr: "", code: null });
}

/** Sends the result in the same frame. Spec: methods-skills.md §3. */
function refused(payload: InstallResult): never {
  return unavailable(payload.message, { payload });
}

function at(value: unknown, path: readonly string[]): Record<string, unknown> {
  let found = value;
  for (const key of path)
    found = Object.hasOwn(Object(found), key) ? (found as Record<string, unknown>)[key] : undefined;
  return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : {};
}
