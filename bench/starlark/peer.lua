-- The workloads of workloads.star that Lua supports, in idiomatic Lua: peer.lua FN... prints "FN 12.345 ms", best of three.
local W = {}

function W.int_loop()
  local total = 0
  for i = 0, 1999999 do total = (total + i * 3 - (i // 7)) % 1000003 end
  return total
end

function W.float_loop()
  local x, total = 0.5, 0.0
  for _ = 1, 1500000 do
    x = 3.7 * x * (1.0 - x)
    total = total + x
  end
  return total
end

local function add3(a, b, c) return a + b + c end

function W.calls_positional()
  local total = 0
  for i = 0, 999999 do total = add3(total, i, 1) end
  return total
end

function W.calls_closure()
  local function make(step) return function(x) return x + step end end
  local bump = make(3)
  local twice = function(x) return bump(bump(x)) end
  local total = 0
  for _ = 1, 400000 do total = twice(total) end
  return total
end

function W.branches()
  local a, b, c = 0, 0, 0
  for i = 0, 999999 do
    if i % 15 == 0 then a = a + 1
    elseif i % 5 == 0 or i % 3 == 0 then b = b + 2
    elseif i & 1 == 0 and i > 10 then c = c + 3 end
  end
  return a + b + c
end

function W.sieve()
  local n, flags, count = 400000, {}, 0
  for i = 0, n do flags[i] = true end
  for i = 2, n do
    if flags[i] then
      count = count + 1
      for j = i * i, n, i do flags[j] = false end
    end
  end
  return count
end

function W.matmul()
  local n, a, b, out = 90, {}, {}, {}
  for i = 1, n do
    a[i], b[i] = {}, {}
    for j = 1, n do
      a[i][j] = (i * j) % 7 + 0.5
      b[i][j] = (i + j) % 5 + 0.25
    end
  end
  for i = 1, n do
    local row, ai = {}, a[i]
    for j = 1, n do
      local s = 0.0
      for k = 1, n do s = s + ai[k] * b[k][j] end
      row[j] = s
    end
    out[i] = row
  end
  return out[n][n]
end

function W.dict_string_keys()
  local words, d = {}, {}
  for i = 0, 19999 do words[i + 1] = "key" .. (i % 5000) end
  for _ = 1, 20 do
    for _, w in ipairs(words) do d[w] = (d[w] or 0) + 1 end
  end
  return d
end

function W.dict_int_keys()
  local d = {}
  for i = 0, 599999 do
    local k = (i * 7919) % 50021
    if d[k] then d[k] = d[k] + 1 else d[k] = 1 end
  end
  return d
end

function W.sort_ints()
  local n = 0
  for _ = 1, 5 do
    local xs = {}
    for i = 0, 99999 do xs[i + 1] = (i * 7919 + 13) % 100003 end
    table.sort(xs)
    n = n + xs[501]
  end
  return n
end

function W.comprehensions()
  local n = 0
  for _ = 1, 60 do
    local xs, d = {}, {}
    for x = 0, 9999 do
      if x % 3 ~= 0 then xs[#xs + 1] = x * x end
    end
    for i = 1, 2000 do d[xs[i]] = xs[i] + 1 end
    n = n + #xs
  end
  return n
end

for _, name in ipairs(arg) do
  local fn = W[name]
  if fn then
    local best = math.huge
    for _ = 1, 3 do
      local start = os.clock()
      fn()
      best = math.min(best, os.clock() - start)
    end
    print(string.format("%s %.3f ms", name, best * 1e3))
  end
end
