/** Import: records that move into the gateway and out of it. Owns the extension point `Importer`; the verbs read other products. */
import { definePlugin, invalidRequest, lazy, matches, notFound, violations } from "@svc/sdk";
import { Importer, type ImportOutcome, type ImportRecord, imports } from "@svc/sdk/import";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";

const setupCode = lazy(() => import("./setup.ts"));

export default definePlugin({
  id: "import",
  api: "^1.0.0",

  setup(gateway) {
    const importers = gateway.own(Importer);
    const find = (kind: string) =>
      importers.get(kind) ??
      notFound(`no plugin takes records of the kind "${kind}"; see import.kinds, or use the plugin that has them`);

    const sessions = async () => {
      const one = importers.get("session");
      return one ? importers.call(one, (importer) => importer.count()) : 0;
    };
    const offer = lazySetupPart({ title: "Moving in", order: 50 }, async () =>
      (await setupCode()).createOffer({ env: process.env, sessions }),
    );
    gateway.extend(SetupPart, "import", offer);
    gateway.serve(imports, {
      async kinds() {
        const counted = importers.list().map(async (one) => ({
          kind: one.id,
          title: one.value.title,
          plugin: one.plugin,
          count: await importers.call(one, (importer) => importer.count()),
          gives: one.value.give !== undefined,
        }));
        return { kinds: await Promise.all(counted) };
      },
      async take({ params: { kind, records } }) {
        const importer = find(kind);
        const { record: schema } = importer.value;
        const valid = records.filter((record) => matches(schema, record));
        const taken = valid.length === 0 ? [] : await importers.call(importer, (one) => one.take(valid));
        const outcomes = new Map(valid.map((record, at) => [record, taken[at]]));
        return {
          outcomes: records.map((record) => outcomes.get(record) ?? refused(record, violations(schema, record))),
        };
      },
      async give({ params: { kind, after } }) {
        const importer = find(kind);
        if (!importer.value.give)
          return invalidRequest(`records of the kind "${kind}" are not exported; see import.kinds`);
        return importers.call(importer, (one) => one.give?.(after) ?? { records: [] });
      },
    });
  },
});

/** The values are not part of the reason: they may be secret. */
function refused({ id }: ImportRecord, [first]: ReturnType<typeof violations>): ImportOutcome {
  const reason = first ? `${first.path || "the record"} ${first.message}` : "the plugin gave no outcome for it";
  return { id, action: "refuse", reason };
}
