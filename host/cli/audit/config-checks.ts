/** Checks of the whole configuration: whether it can be read, whether a gateway would start with it, and which secrets it contains. */
import { configIssues, createSecretPlaces, startIssue } from "@svc/host/local";
import { setCommand, settingText } from "@svc/sdk/cli";
import { loadOwners } from "../config/owners.ts";
import { valueAt } from "../config/path.ts";
import type { HostCheck, HostHit } from "./view.ts";

/** Choice: maximum number of listed issues. */
const MOST = 20;

export const CONFIG_CHECKS: readonly HostCheck[] = [
  {
    id: "config.unreadable",
    severity: "critical",
    why: "Its keys could not be checked, and a gateway does not start with it.",
    find: ({ file }) => {
      const [issue] = file.issues;
      if (!issue || Object.keys(file.resolved).length > 0) return [];
      return [{ about: file.path, message: `It cannot be read: ${issue.message}.`, fix: "svc config validate" }];
    },
  },
  {
    id: "config.invalid",
    severity: "warning",
    why: "A gateway does not start with it, or runs with an older configuration.",
    async find({ file, paths }) {
      if (file.issues.length > 0 && Object.keys(file.resolved).length === 0) return []; // config.unreadable reports it
      const { owners } = await loadOwners(file, paths);
      const issues = [...configIssues(file, owners)];
      const refusal = issues.length === 0 ? await startIssue(file, { env: process.env, paths }) : undefined;
      return [...issues, ...(refusal ? [refusal] : [])].slice(0, MOST).map(({ path, message }): HostHit => ({
        about: path || file.path,
        message: `It is refused: ${message}.`,
        fix: "svc config validate",
      }));
    },
  },
  {
    id: "config.secret-in-file",
    severity: "info",
    why: "Every copy, backup and pasted part of the file contains the secret.",
    async find({ file, paths }) {
      const { owners } = await loadOwners(file, paths);
      return createSecretPlaces(() => [file, owners])
        .list()
        .filter(({ path }) => isInClear(valueAt(file.expanded, path)))
        .map(({ path }) => ({
          about: settingText(path),
          message: `The secret is written in the file; export it as ${variableFor(path)} first.`,
          fix: setCommand(path, `\${${variableFor(path)}}`),
        }));
    },
  },
];

/** Whether the value is text without a variable. */
function isInClear(written: unknown): boolean {
  return typeof written === "string" && written.trim() !== "" && !/(?<!\$)\$\{[A-Z_][A-Z0-9_]*\}/.test(written);
}

/** `gateway.auth.token` -> `SVC_GATEWAY_AUTH_TOKEN`. */
function variableFor(path: readonly (string | number)[]): string {
  const words = path.map((part) => String(part).replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
  return ["SVC", ...words]
    .join("_")
    .toUpperCase()
    .replace(/[^A-Z0-9_]+/g, "_");
}
