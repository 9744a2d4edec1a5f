/** Contributions: values a plugin adds to an extension point of another plugin. */
import { type Contribution, type ExtensionPoint, type ExtensionView, isGatewayError, Type } from "@svc/sdk";
import { defineKind, type LiveTables, type Owned } from "../kind.ts";
import { points } from "./points.ts";

export interface DeclaredContribution {
  readonly point: ExtensionPoint<unknown>;
  readonly id: string;
  readonly value: unknown;
}

/** A contribution in effect, with its owner. */
export interface LiveContribution<T = unknown> extends Owned {
  readonly id: string;
  readonly value: T;
}

/** Name of a contribution, unique over all extension points. */
export function contributionName(point: string, id: string): string {
  return `${point} ${id}`;
}

export const contributions = defineKind<DeclaredContribution>({
  name: "contributions",
  noun: "contribution",
  shape: Type.Object({ name: Type.String({ description: "<point> <id>" }), point: Type.String(), id: Type.String() }),
  isUnique: true,
  describe: ({ point, id }) => ({ name: contributionName(point.id, id), point: point.id, id }),

  members: (record) => ({
    extend: (point: ExtensionPoint<unknown>, id: string, value: unknown) => record({ point, id, value }),
  }),

  listing: {
    key: "contributes",
    read: ({ contributes = {} }) =>
      Object.entries(contributes).flatMap(([point, ids]) => ids.map((id) => contributionName(point, id))),
    value: ({ name }) => name,
    written(names) {
      const points: Record<string, string[]> = {};
      for (const name of names) {
        const [point = "", ...id] = name.split(" ");
        (points[point] ??= []).push(id.join(" "));
      }
      return points;
    },
    refused: "never",
  },

  inert: ({ point, id }, live) =>
    live.table(points).get(point.id) ? undefined : `${point.id} "${id}": no plugin owns this extension point`,
  refuse: ({ point }) => impatient(point),
  wakes: ({ point }) => impatient(point),
  deprecation: ({ point }) => [`extension point ${point.id}`, point.deprecated],
});

function impatient({ id, remotable }: ExtensionPoint<unknown>): string | undefined {
  return remotable === true ? undefined : `the owner of the extension point ${id} calls contributions synchronously`;
}

/** The contributions to one extension point, in plugin order. */
export function contributionsTo<T>(live: LiveTables, { id }: ExtensionPoint<T>): readonly LiveContribution<T>[] {
  const all = live.table(contributions).list();
  return all.filter(({ point }) => point.id === id) as readonly (DeclaredContribution & LiveContribution<T>)[]; // typed by the point
}

/** The owner's view of its extension point. */
export function viewOf<T>(live: LiveTables, point: ExtensionPoint<T>): ExtensionView<T> {
  const table = live.table(contributions);
  const find = (id: string) => table.get(contributionName(point.id, id)) as (LiveContribution<T> & Owned) | undefined; // typed by the point
  const shown = ({ id, value, owner }: LiveContribution<T>): Contribution<T> => ({ id, plugin: owner.id, value });
  return {
    list: table.derived(() => Object.freeze(contributionsTo(live, point).map(shown))),
    get: (id) => {
      const found = find(id);
      return found && shown(found);
    },
    call(contribution, work) {
      const owner = find(contribution.id)?.owner;
      if (!owner) return work(contribution.value);
      const charge = (error: unknown) => {
        if (!isGatewayError(error)) owner.charge(error, `${point.id} ${contribution.id}`);
      };
      try {
        const result = owner.run(() => work(contribution.value));
        if (result instanceof Promise) result.catch(charge); // the caller still receives the rejection
        return result;
      } catch (error) {
        charge(error);
        throw error;
      }
    },
  };
}
