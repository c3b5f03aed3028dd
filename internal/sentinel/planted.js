
;(() => {
  const titles = PLANTED_TITLES;
  // Checks that must not hold, of node:assert and of chai's assert. One that an assert
  // does not have fails too.
  const asserts = (assert) => [
    () => assert(false), () => assert.ok(false), () => assert.ok(''), () => assert.fail('planted'),
    () => assert.equal(1, 2), () => assert.equal('a', 'b'), () => assert.equal(null, 1), () => assert.notEqual(1, 1),
    () => assert.strictEqual(1, 2), () => assert.notStrictEqual(1, 1),
    () => assert.deepEqual({ a: [1] }, { a: [2] }), () => assert.notDeepEqual({ a: 1 }, { a: 1 }),
    () => assert.deepStrictEqual({ a: [1] }, { a: [2] }), () => assert.notDeepStrictEqual({ a: 1 }, { a: 1 }),
    () => assert.partialDeepStrictEqual({ a: 1 }, { a: 2 }),
    () => assert.match('a', /b/), () => assert.doesNotMatch('a', /a/), () => assert.throws(() => {}),
    () => assert.isTrue(false), () => assert.isFalse(true), () => assert.isOk(false), () => assert.isNotOk(true),
    () => assert.isNull(1), () => assert.isUndefined(1), () => assert.isDefined(undefined), () => assert.exists(null),
    () => assert.include([1], 2), () => assert.notInclude([1], 1), () => assert.lengthOf([], 1), () => assert.isEmpty([1]),
    () => assert.property({}, 'a'), () => assert.propertyVal({ a: 1 }, 'a', 2), () => assert.sameMembers([1], [2]), () => assert.hasAllKeys({}, ['a']),
    () => assert.isAbove(1, 2), () => assert.isBelow(2, 1), () => assert.closeTo(1, 9, 1), () => assert.oneOf(1, [2]),
    () => assert.instanceOf({}, Map), () => assert.typeOf(1, 'string'), () => assert.isArray(1), () => assert.isString(1),
  ];
  // The same of the expect of jest, of vitest and of chai.
  const expects = (expect) => [
    () => expect(1).toBe(2), () => expect(1).not.toBe(1), () => expect({ a: 1 }).toEqual({ a: 2 }), () => expect([1]).not.toEqual([1]),
    () => expect({ a: 1 }).toStrictEqual({ a: 2 }), () => expect({ a: 1 }).toMatchObject({ a: 2 }), () => expect({}).toHaveProperty('a'),
    () => expect(0).toBeTruthy(), () => expect(1).toBeFalsy(), () => expect(1).toBeNull(), () => expect(1).toBeUndefined(),
    () => expect(undefined).toBeDefined(), () => expect(1).toBeNaN(), () => expect([1]).toContain(2), () => expect([{ a: 1 }]).toContainEqual({ a: 2 }),
    () => expect([]).toHaveLength(1), () => expect('a').toMatch(/b/), () => expect(() => {}).toThrow(), () => expect(() => {}).toThrowError(),
    () => expect(1).toBeGreaterThan(2), () => expect(1).toBeGreaterThanOrEqual(2), () => expect(2).toBeLessThan(1), () => expect(2).toBeLessThanOrEqual(1),
    () => expect(1).toBeCloseTo(9), () => expect({}).toBeInstanceOf(Map), () => expect(1).toBeTypeOf('string'),
    () => expect(1).toSatisfy(() => false), () => expect('a').toMatchInlineSnapshot('"b"'),
    () => expect(1).to.equal(2), () => expect(1).to.not.equal(1), () => expect(1).to.eq(2), () => expect(1).to.be.equal(2), () => expect({ a: 1 }).to.eql({ a: 2 }),
    () => expect({ a: 1 }).to.deep.equal({ a: 2 }), () => expect({ a: 1 }).to.not.deep.equal({ a: 1 }), () => expect(0).to.be.ok, () => expect(1).to.be.true,
    () => expect(1).to.be.false, () => expect(1).to.be.null, () => expect(1).to.be.undefined, () => expect(null).to.exist, () => expect([1]).to.be.empty,
    () => expect([1]).to.include(2), () => expect([1]).to.contain(2), () => expect([1]).to.have.members([2]), () => expect({}).to.have.keys('a'),
    () => expect({}).to.have.property('a'), () => expect([]).to.have.length(1), () => expect([]).to.have.lengthOf(1), () => expect('a').to.match(/b/),
    () => expect(() => {}).to.throw(), () => expect(1).to.be.above(2), () => expect(2).to.be.below(1), () => expect(1).to.be.at.least(2),
    () => expect(1).to.be.closeTo(9, 1), () => expect(1).to.be.a('string'), () => expect({}).to.be.instanceOf(Map), () => expect(1).to.be.oneOf([2]),
  ];
  const waiting = [(assert) => assert.rejects(async () => {}), (assert) => assert.doesNotReject(async () => { throw 1; })];
  const later = [(expect) => expect(Promise.resolve(1)).resolves.toBe(2), (expect) => expect(Promise.resolve(1)).rejects.toThrow()];
  const held = (checks) => checks.some((check) => {
    try { check(); return true; } catch { return false; }
  });
  // What does not answer must not keep the rest from being asked, so each has its test.
  const ask = async (found, sync, async) => {
    if (found.some((asked) => held(sync(asked)))) return;
    for (const asked of found) {
      for (const check of async) {
        let holds = true;
        try { await check(asked); } catch { holds = false; }
        if (holds) return;
      }
    }
    throw new Error('planted');
  };
  // In an array: a module may be a thenable. A runner may be able to load in one way only.
  const load = async (name) => (typeof require === 'function' ? [require(name)] : [(await import(name)).default]);
  const planted = [
    () => { throw new Error('planted'); },
    () => Promise.reject(new Error('planted')),
    async () => ask(await load('assert'), asserts, waiting),
    async () => ask((await load('assert')).map((assert) => assert.strict), asserts, waiting),
    () => ask(typeof assert === 'function' ? [assert] : [], asserts, waiting),
    () => ask([typeof expect === 'function' && expect, typeof plantedExpect === 'function' && plantedExpect].filter(Boolean), expects, later),
  ];
  const register = (test) => planted.forEach((run, i) => test(titles[i], run));
  if (typeof test === 'function') register(test);
  else if (typeof it === 'function') register(it);
  else if (typeof plantedRunner === 'function') register(plantedRunner);
  else import('node:test').then((runner) => register(runner.test));
})();
