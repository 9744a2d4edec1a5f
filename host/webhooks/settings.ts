/** Reads the section `hooks` and reports what in it cannot work. Spec: http/webhooks.md §1. Pure. */
import { join, resolve } from "node:path";
import { transformPathProblem } from "@svc/sdk/files";
import type { TransformPlan } from "@svc/sdk/webhooks";
import { shortfall } from "../auth/weak-secret.ts";
import type { Issue } from "../config/file.ts";
import type { HooksSection } from "../config/hooks-schema.ts";
import { canonicalPath } from "../net/http/path.ts";
import { PROBE_PATHS } from "../net/http/probes.ts";
import { type CompiledMapping, compileMapping, type MappingSource } from "./mapping.ts";
import { type PolicySettings, policyIssues, policySettings } from "./policy.ts";

export interface WebhookSettings {
  readonly enabled: boolean;
  /** Trimmed; blank only while webhooks are disabled. */
  readonly token: string;
  /** Begins with a slash and does not end with one. */
  readonly path: string;
  readonly maxBodyBytes: number;
  readonly policy: PolicySettings;
  readonly presets: readonly string[];
  /** Disabled ids of mappings and actions that have no key `enabled` of their own. */
  readonly disabled: ReadonlySet<string>;
  readonly mappings: readonly CompiledMapping[];
  /** Directories of the transforms; only checked while webhooks are enabled. */
  readonly transforms: Pick<TransformPlan, "root" | "directory">;
}

/** Facts that settings are checked against. */
export interface SettingsFacts {
  /** The gateway's own token, in mode `token`. */
  readonly gatewayToken: string | undefined;
  /** Only programs on this machine reach the port. */
  readonly isLocal: boolean;
  /** Directory of the configuration file. */
  readonly configDir: string;
}

export const DEFAULT_PATH = "/hooks";
const DEFAULT_MAX_BODY_BYTES = 262_144;

/** @returns the settings and their issues; settings with issues must not be used. A disabled section has no issues: nothing of it takes effect. */
export function webhookSettings(
  section: HooksSection,
  { gatewayToken, isLocal, configDir }: SettingsFacts,
): { readonly settings: WebhookSettings; readonly issues: readonly Issue[] } {
  const issues: Issue[] = [];
  const root = join(configDir, "hooks", "transforms");
  const enabled = section.enabled === true;
  const token = section.token?.trim() ?? "";
  const path = normalPath(section.path);
  const mappings = (section.mappings ?? []).map((mapping, index) =>
    compileMapping(mapping, { ...configSource(mapping, index), issues }),
  );
  const settings: WebhookSettings = {
    enabled,
    token,
    path,
    maxBodyBytes: section.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
    policy: policySettings(section),
    presets: [...new Set(section.presets)],
    disabled: new Set(section.disabled),
    mappings,
    transforms: { root, directory: resolve(root, section.transformsDir?.trim() ?? "") },
  };
  if (!enabled) return { settings, issues: [] };
  issues.push(...tokenIssues(token, gatewayToken, isLocal), ...pathIssues(path), ...policyIssues(section));
  issues.push(...transformIssues(section, root), ...sameIds(mappings));
  return { settings, issues };
}

function configSource({ id, enabled }: { id?: string; enabled?: boolean }, index: number): MappingSource {
  return {
    id: id?.trim() || `mapping-${index + 1}`,
    origin: "config",
    place: `hooks.mappings[${index}]`,
    enabled: enabled !== false,
  };
}

function normalPath(text: string | undefined): string {
  const trimmed = (text ?? "").trim() || DEFAULT_PATH;
  return `/${trimmed.replace(/^\/+|\/+$/g, "")}`;
}

/** Message about a token that can be guessed; `undefined`: it cannot. */
export function weakToken(token: string): string | undefined {
  const short = shortfall(token);
  return (
    short &&
    `has ${short.has} ${short.what} and can be guessed; choose one of at least ${short.least}, e.g. with: openssl rand -hex 24`
  );
}

function tokenIssues(token: string, gatewayToken: string | undefined, isLocal: boolean): Issue[] {
  if (token === "")
    return [
      {
        path: "hooks.token",
        message: "is required while hooks.enabled is true; choose one, e.g. with: openssl rand -hex 24",
      },
    ];
  if (token === gatewayToken?.trim())
    return [
      {
        path: "hooks.token",
        message: "must not be the gateway's own token: senders of webhooks would have admin access",
      },
    ];
  const weak = isLocal ? undefined : weakToken(token);
  return weak === undefined
    ? []
    : [{ path: "hooks.token", message: `${weak}. With this gateway.bind, other machines can reach the gateway` }];
}

/** Paths the gateway itself serves. */
const TAKEN = [...PROBE_PATHS, "/plugins"];

function pathIssues(path: string): Issue[] {
  const message =
    path === "/"
      ? "cannot be the root of the gateway; choose a path like /hooks"
      : canonicalPath(path) !== path || /[?#]/.test(path)
        ? "must be a plain path: letters, digits, - and _ between single slashes"
        : TAKEN.some((taken) => path === taken || path.startsWith(`${taken}/`))
          ? `is served by the gateway itself; choose a path other than ${TAKEN.join(", ")}`
          : undefined;
  return message === undefined ? [] : [{ path: "hooks.path", message }];
}

/** Spec: http/webhooks.md §7, first layer. The plugin that loads the files checks their contents. */
function transformIssues({ transformsDir, mappings = [] }: HooksSection, root: string): Issue[] {
  const issues: Issue[] = [];
  const directory = transformsDir === undefined ? undefined : transformPathProblem(transformsDir, root);
  if (directory) issues.push({ path: "hooks.transformsDir", message: directory });
  for (const [index, { transform }] of mappings.entries()) {
    const message = transform && transformPathProblem(transform.module);
    if (message) issues.push({ path: `hooks.mappings[${index}].transform.module`, message });
  }
  return issues;
}

function sameIds(mappings: readonly CompiledMapping[]): Issue[] {
  const seen = new Map<string, string>();
  return mappings.flatMap(({ id, place }) => {
    const first = seen.get(id);
    seen.set(id, first ?? place);
    return first === undefined ? [] : [{ path: `${place}.id`, message: `"${id}" is also the id of ${first}` }];
  });
}
