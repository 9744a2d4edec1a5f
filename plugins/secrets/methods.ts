/** Handlers of the namespace `secrets`. Spec: protocol/methods-secrets.md. */
import { type Handlers, invalidRequest, type Logger, matches } from "@svc/sdk";
import { type SecretPlace, type SecretPlaces, type secrets, SecretsResolveParams } from "@svc/sdk/secrets";
import type { KnownRef, RunningSecrets } from "./running-secrets.ts";
import { pathText, refAt } from "./places.ts";
import { printable } from "./printable.ts";

type Contract = typeof secrets;
type Listed = Awaited<ReturnType<Handlers<Contract>["list"]>>["secrets"][number];

export interface MethodsOptions {
  readonly runningSecrets: RunningSecrets;
  readonly places: SecretPlaces;
  readonly log: Logger;
}

export function createHandlers({ runningSecrets, places, log }: MethodsOptions): Handlers<Contract> {
  return {
    list: () => ({ secrets: runningSecrets.list().map(row) }),

    reload: async () => ({ ok: true as const, warningCount: await runningSecrets.reload() }),

    async resolve({ params, principal }) {
      const { targetIds, commandName } = checked(params);
      const all = places.list();
      refuseUnknown(targetIds, new Set([...places.targets(), ...all.map(({ target }) => target)]));
      const wanted = all.filter(({ target }) => targetIds.includes(target));
      const unused = wanted.filter((place) => refAt(place) && !place.active);
      const used = wanted.filter((place) => !unused.includes(place));
      const assignments = await Promise.all(used.map((place) => assign(place, runningSecrets)));
      const given = { by: principal.id, command: printable(commandName), count: assignments.length };
      log.info(given, "secret values were returned to a client");
      const inactiveRefPaths = unused.map(({ path }) => pathText(path));
      const diagnostics = inactiveRefPaths.map(
        (path) => `${path}: not looked up, no running plugin reads this section`,
      );
      return { ok: true as const, assignments, diagnostics, inactiveRefPaths };
    },
  };
}

/** Choice: any fault except one of `commandName` is reported as `targetIds`, as the existing service does. */
function checked(params: unknown): SecretsResolveParams {
  const name =
    typeof params === "object" && params !== null && "commandName" in params ? params.commandName : undefined;
  if (typeof name !== "string" || name.trim() === "") invalidRequest("invalid secrets.resolve params: commandName");
  if (!matches(SecretsResolveParams, params)) return invalidRequest("invalid secrets.resolve params: targetIds");
  return params;
}

function refuseUnknown(targetIds: readonly string[], known: ReadonlySet<string>): void {
  const unknown = targetIds.find((id) => !known.has(id));
  if (unknown !== undefined) {
    invalidRequest(`invalid secrets.resolve params: unknown target id "${printable(unknown)}"`);
  }
}

/** @throws GatewayError `UNAVAILABLE` */
async function assign(place: SecretPlace, runningSecrets: RunningSecrets) {
  const ref = refAt(place);
  const value = ref ? await runningSecrets.reveal(ref) : place.value;
  return { path: pathText(place.path), pathSegments: place.path.map(String), value };
}

function row({ path, ref: { source, provider }, active, outcome }: KnownRef): Listed {
  const place = { path, source, provider };
  if (!active) return { ...place, state: "inactive", reason: "no running plugin reads this section" };
  if (!outcome) return { ...place, state: "pending" };
  if (outcome.state !== "found") return { ...place, state: outcome.state, reason: outcome.reason };
  const { stale } = outcome;
  return {
    ...place,
    state: "found",
    ...(stale === undefined ? {} : { reason: `the last lookup failed, the previous value is used: ${stale}` }),
  };
}
