/** Rows of conversations. */
import type { Static } from "@svc/sdk";
import type { SessionRow } from "@svc/sdk/sessions";

/** What people call a conversation. */
export function titleOf({ label, displayName, derivedTitle, subject, key }: Static<typeof SessionRow>): string {
  return label ?? displayName ?? subject ?? derivedTitle ?? key;
}
