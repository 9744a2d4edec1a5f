import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  forgetMark,
  markMemory,
  markOf,
  newMark,
  NOBODY,
  ownerOf,
  runMarked,
  tellMarks,
} from "../../../host/kernel/marks.ts";
import { fakeOwner } from "../hooks/fake-owner.ts";

const seen = () => new Int32Array(markMemory())[0];

describe("marks", () => {
  it("identify the running code, and are restored after nested code", () => {
    const [outer, inner] = [newMark(fakeOwner("outer", 1)), newMark(fakeOwner("inner", 2))];
    const marks: unknown[] = [seen()];
    runMarked(outer, () => {
      marks.push(seen());
      assert.throws(() =>
        runMarked(inner, () => {
          marks.push(seen());
          throw new Error("boom");
        }),
      );
      marks.push(seen());
    });
    assert.deepEqual([...marks, seen()], [NOBODY, outer, inner, outer, NOBODY]);
  });

  it("map to their owner until released, and are never reused", () => {
    const owner = fakeOwner("a", 1);
    const mark = newMark(owner);
    assert.deepEqual([ownerOf(mark), markOf(owner), markOf(undefined)], [owner, mark, NOBODY]);
    forgetMark(mark);
    forgetMark(mark);
    assert.equal(ownerOf(mark), undefined);
    assert.notEqual(newMark(owner), mark);
  });

  it("are reported to listeners, both existing and later ones", () => {
    const before = newMark(fakeOwner("before", 1));
    const told: unknown[] = [];
    const stop = tellMarks((mark, plugin) => told.push([mark, plugin]));
    const after = newMark(fakeOwner("after", 2));
    forgetMark(before);
    stop();
    forgetMark(after);
    assert.deepEqual(told.slice(-3), [
      [before, "before"],
      [after, "after"],
      [before, undefined],
    ]);
  });
});
