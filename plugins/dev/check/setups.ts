/** Watches the setups of one plugin: what they open though they should not. */
import type { Plugin } from "@svc/sdk";
import { openedBy } from "@svc/sdk/testing";

export interface Setups {
  /** The same plugin, watched. */
  readonly plugin: Plugin;
  /** Kinds of resources that every setup so far has opened. */
  alwaysOpened(): readonly string[];
  readonly count: number;
}

export function watchSetups(plugin: Plugin): Setups {
  const opened: string[][] = [];
  return {
    plugin: {
      ...plugin,
      setup: (gateway) =>
        openedBy(
          () => plugin.setup(gateway),
          (kinds) => void opened.push(kinds),
        ),
    },
    alwaysOpened() {
      const [first = [], ...others] = opened; // something else may begin meanwhile
      return first.filter((kind) => others.every((kinds) => kinds.includes(kind)));
    },
    get count() {
      return opened.length;
    },
  };
}
