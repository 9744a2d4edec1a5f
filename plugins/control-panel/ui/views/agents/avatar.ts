/** The picture of an agent: an image, an emoji, or the first letter of its name. */
import { html, type TemplateResult } from "lit";
import type { AgentRow } from "./entries.ts";

export function nameOf({ id, name, identity }: AgentRow): string {
  return identity?.name ?? name ?? id;
}

export function avatarOf(row: AgentRow): TemplateResult {
  const { emoji, avatar, avatarUrl } = row.identity ?? {};
  // Only images that the gateway sent along: loading an address would tell its server who looks.
  if (avatarUrl?.startsWith("data:image/")) return html`<img class="avatar" src=${avatarUrl} alt="" />`;
  const isText = avatar !== undefined && !/[/.:]/.test(avatar);
  const [letter = "?"] = new Intl.Segmenter().segment(nameOf(row)).containing(0)?.segment ?? "?";
  return html`<span class="avatar" aria-hidden="true"
    >${(isText ? avatar : undefined) ?? emoji ?? letter.toUpperCase()}</span
  >`;
}
