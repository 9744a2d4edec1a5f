/** A model of what is allowed, much simpler than the gateway's implementation. Spec: protocol/frames-and-connect.md §7, §10, §11; methods-device.md. */
import { SCOPES } from "@svc/sdk";
import { closure } from "./scene.ts";

export type Role = "operator" | "node";

interface Record {
  roles: Set<Role>;
  /** Scopes that people, or the silent approval, approved. */
  approved: Set<string>;
  /** Approved scopes that the device has requested. */
  asked: Set<string>;
}

interface Request {
  readonly requestId: string;
  readonly role: Role;
  readonly roles: ReadonlySet<Role>;
  readonly scopes: ReadonlySet<string>;
}

interface Token {
  /** Unknown until the device gets it. */
  value: string | undefined;
  scopes: readonly string[];
  live: boolean;
}

/** An open connection. */
export interface Standing {
  readonly device: string;
  readonly role: Role;
  readonly powers: readonly string[];
  /** The connection ends with the token of its role. */
  readonly onToken: boolean;
}

export type Verdict = "open" | "waits" | "refused";

export const covers = (held: Iterable<string>, wanted: Iterable<string>) => {
  const all = closure([...held]);
  return [...wanted].every((scope) => all.has(scope));
};

export class DeviceModel {
  readonly records = new Map<string, Record>();
  readonly requests = new Map<string, Request>();
  readonly tokens = new Map<string, Token>();
  /** Values that are no longer valid, with their device and role. */
  readonly dead: { readonly value: string; readonly device: string; readonly role: Role }[] = [];
  standing: Standing[] = [];
  readonly #isSilent: boolean;

  constructor(isSilent: boolean) {
    this.#isSilent = isSilent;
  }

  token(device: string, role: Role): Token | undefined {
    return this.tokens.get(`${device}:${role}`);
  }

  /** @param value the token it sends; absent: the secret of the gateway */
  connect(device: string, role: Role, scopes: readonly string[], value: string | undefined): Verdict {
    const token = this.token(device, role);
    if (value !== undefined) {
      if (!token?.live || token.value !== value) return "refused";
      if (role === "node" ? scopes.some((scope) => !token.scopes.includes(scope)) : !covers(token.scopes, scopes))
        return "refused";
    }
    const wanted = role === "node" ? [] : scopes;
    const record = this.records.get(device);
    const isKnown = record?.roles.has(role) ?? false;
    if (!record || !isKnown || !covers(record.approved, wanted)) {
      const mayBeSilent = this.#isSilent && (record === undefined || isKnown) && !this.requests.has(device);
      if (!mayBeSilent) return "waits";
      this.#grant(device, { requestId: "", role, roles: new Set([role]), scopes: new Set(wanted) });
    }
    for (const scope of wanted) this.records.get(device)?.asked.add(scope);
    return "open";
  }

  /** The request that the refused device got. */
  waits(device: string, role: Role, scopes: readonly string[], requestId: string): void {
    const before = this.requests.get(device);
    this.requests.set(device, {
      requestId,
      role: before?.role ?? role,
      roles: new Set([...(before?.roles ?? []), role]),
      scopes: new Set([...(before?.scopes ?? []), ...(role === "node" ? [] : scopes)]),
    });
  }

  /** The device is admitted. @returns the token it should get, if known */
  opened(device: string, role: Role, scopes: readonly string[], byToken: boolean, told: string): string | undefined {
    const wanted = role === "node" ? [] : scopes;
    const powers = role === "node" ? ["node"] : SCOPES.filter((scope) => closure(wanted).has(scope));
    this.standing.push({ device, role, powers, onToken: byToken || role === "node" });
    const token = this.token(device, role);
    if (token?.live && covers(token.scopes, wanted)) {
      const expected = token.value;
      token.value = told;
      return expected;
    }
    this.#replace(device, role, { value: told, scopes: [...wanted].sort(), live: true });
    return undefined;
  }

  /** @returns whether an approver with these scopes may approve it */
  approve(device: string, held: readonly string[]): boolean {
    const request = this.requests.get(device);
    if (!request || !covers(held, ["operator.pairing"]) || !covers(held, request.scopes)) return false;
    this.requests.delete(device);
    this.#grant(device, request);
    return true;
  }

  rotate(device: string, role: Role, held: readonly string[], scopes: readonly string[] | undefined): boolean {
    const record = this.records.get(device);
    if (!record || !covers(held, ["operator.pairing"])) return false;
    if (!record.roles.has(role)) return false;
    const wanted = scopes ?? this.token(device, role)?.scopes ?? [...record.asked];
    return covers(record.approved, wanted) && covers(held, wanted);
  }

  rotated(device: string, role: Role, value: string, scopes: readonly string[]): void {
    this.#replace(device, role, { value, scopes, live: true });
    this.#end(device, role);
  }

  revoke(device: string, role: Role): boolean {
    const token = this.token(device, role);
    if (!token || !this.records.has(device)) return false;
    token.live = false;
    this.#bury(device, role, token);
    this.#end(device, role);
    return true;
  }

  remove(device: string): boolean {
    if (!this.records.delete(device)) return false;
    this.requests.delete(device);
    for (const role of ["operator", "node"] as const) {
      this.#bury(device, role, this.token(device, role));
      this.tokens.delete(`${device}:${role}`);
    }
    this.standing = this.standing.filter((one) => one.device !== device);
    return true;
  }

  #grant(device: string, { role, roles, scopes }: Request): void {
    const before = this.records.get(device);
    const token = this.token(device, role);
    const record = before ?? { roles: new Set<Role>(), approved: new Set<string>(), asked: new Set<string>() };
    const former = [...record.approved];
    for (const one of roles) record.roles.add(one);
    for (const scope of scopes) for (const set of [record.approved, record.asked]) set.add(scope);
    this.records.set(device, record);
    if (token?.live && (role === "node" || covers(token.scopes, scopes))) return;
    const given = role === "node" ? [] : scopes.size > 0 ? [...scopes] : (token?.scopes ?? former);
    this.#replace(device, role, { value: undefined, scopes: [...given].sort(), live: true });
    if (token) this.#end(device, role);
  }

  #replace(device: string, role: Role, token: Token): void {
    this.#bury(device, role, this.token(device, role));
    this.tokens.set(`${device}:${role}`, token);
  }

  #bury(device: string, role: Role, token: Token | undefined): void {
    if (token?.value !== undefined) this.dead.push({ value: token.value, device, role });
  }

  #end(device: string, role: Role): void {
    this.standing = this.standing.filter((one) => one.device !== device || one.role !== role || !one.onToken);
  }
}
