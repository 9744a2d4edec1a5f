/** A further kind of declaration in one file: badges that a plugin shows on a status page. */
import { Type } from "@svc/sdk";
import { defineKind } from "../../../host/kernel/kind.ts";

export interface StatusBadge {
  readonly name: string;
  /** Its current text. */
  text(): string | Promise<string>;
}

/** Names of committed (`+`) and withdrawn (`-`) badges, in order. */
export const committed: string[] = [];

export default defineKind<StatusBadge>({
  name: "statusBadges",
  noun: "status badge",
  shape: Type.Object({ name: Type.String({ minLength: 2 }) }),
  isUnique: true,
  describe: ({ name }) => ({ name }),
  members: (record) => ({ badge: (name: string, text: StatusBadge["text"]) => record({ name, text }) }),
  listing: {
    key: "contributes",
    read: ({ contributes = {} }) => contributes["status-badge"] ?? [],
    value: ({ name }) => name,
    written: (names) => ({ "status-badge": names }),
    refused: "packaged",
  },
  commit({ name }) {
    committed.push(`+${name}`);
    return () => void committed.push(`-${name}`);
  },
  problems: ({ name }) =>
    name.startsWith("x") ? [{ level: "warning", why: `badge ${name} begins with x`, next: "rename it" }] : [],
});
