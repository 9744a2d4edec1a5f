/** Extension points a plugin owns, to which other plugins contribute. */
import { type ExtensionPoint, Type } from "@svc/sdk";
import { defineKind } from "../kind.ts";

export interface OwnedPoint {
  readonly point: ExtensionPoint<unknown>;
}

export const points = defineKind<OwnedPoint>({
  name: "points",
  noun: "extension point",
  shape: Type.Object({ name: Type.String() }),
  isUnique: true,
  describe: ({ point: { id } }) => ({ name: id }),

  members: (record, { view }) => ({
    own(point: ExtensionPoint<unknown>) {
      record({ point });
      return view(point);
    },
  }),

  refuse: () => "its contributions are listed synchronously",
});
