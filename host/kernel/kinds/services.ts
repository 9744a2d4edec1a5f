/** Services a plugin provides to other plugins, typed by a token. */
import { type ServiceToken, Type } from "@svc/sdk";
import { defineKind } from "../kind.ts";

export interface DeclaredService {
  readonly token: ServiceToken<unknown>;
  readonly value: unknown;
}

export const services = defineKind<DeclaredService>({
  name: "services",
  noun: "service",
  shape: Type.Object({ name: Type.String(), version: Type.String() }),
  isUnique: true,
  describe: ({ token: { id, version } }) => ({ name: id, version }),

  members: (record, { plugin }) => ({
    provide(token: ServiceToken<unknown>, value: unknown) {
      if (!plugin.provides?.some(({ id }) => id === token.id))
        throw new Error(`provide: list ${token.id} under "provides" first`);
      record({ token, value });
    },
  }),

  // Plugins with a live requirement of a remotable service leave its plugin asleep: each call wakes it. Other services are not used.
  asleep: ({ token, value }) => ({ token, value: token.remotable === true ? value : undefined }),

  conflict(entries, { plugin }) {
    const unmet = plugin.provides?.find(({ id }) => !entries.some(({ token }) => token.id === id));
    return unmet && `it lists ${unmet.id} under "provides", but its setup did not provide it`;
  },
});
