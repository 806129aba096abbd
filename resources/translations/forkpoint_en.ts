<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>Errors</name>
    <message numerus="yes">
        <source>%1: %2, %3, steps %4, %n tensor(s)</source>
        <comment>letter, name, ranks, steps</comment>
        <translation>
            <numerusform>%1: %2, %3, steps %4, %n tensor</numerusform>
            <numerusform>%1: %2, %3, steps %4, %n tensors</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>GraphWords</name>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>and %n more</numerusform>
            <numerusform>and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Heatmap</name>
    <message numerus="yes">
        <source>%n number(s) are needed, one per dim, or one flat index.</source>
        <translation>
            <numerusform>One number is needed, or a flat index.</numerusform>
            <numerusform>%n numbers are needed, one per dim, or one flat index.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>LogWords</name>
    <message numerus="yes">
        <source>largest relative difference %1 at step %2, over %n common step(s)</source>
        <translation>
            <numerusform>largest relative difference %1 at step %2, over %n common step</numerusform>
            <numerusform>largest relative difference %1 at step %2, over %n common steps</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>no difference of finite values, over %n common step(s)</source>
        <translation>
            <numerusform>no difference of finite values, over %n common step</numerusform>
            <numerusform>no difference of finite values, over %n common steps</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 agrees over %n common step(s).</source>
        <translation>
            <numerusform>%1 agrees over %n common step.</numerusform>
            <numerusform>%1 agrees over %n common steps.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1: %2 (%3, %n curve(s))</source>
        <comment>letter, name, format</comment>
        <translation>
            <numerusform>%1: %2 (%3, %n curve)</numerusform>
            <numerusform>%1: %2 (%3, %n curves)</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>equal over %n common step(s)</source>
        <translation>
            <numerusform>equal over %n common step</numerusform>
            <numerusform>equal over %n common steps</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>PairWords</name>
    <message numerus="yes">
        <source>%n rank(s)</source>
        <translation>
            <numerusform>%n rank</numerusform>
            <numerusform>%n ranks</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 of %n rank(s)</source>
        <translation>
            <numerusform>%1 of %n rank</numerusform>
            <numerusform>%1 of %n ranks</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>VerdictWords</name>
    <message numerus="yes">
        <source>The runs are bit-identical in all %n compared tensor(s).</source>
        <translation>
            <numerusform>The runs are bit-identical in the one compared tensor.</numerusform>
            <numerusform>The runs are bit-identical in all %n compared tensors.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The runs agree within rounding in all %n compared tensor(s).</source>
        <translation>
            <numerusform>The runs agree within rounding in the one compared tensor.</numerusform>
            <numerusform>The runs agree within rounding in all %n compared tensors.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) bit-identical.</source>
        <translation>
            <numerusform>%n tensor bit-identical.</numerusform>
            <numerusform>%n tensors bit-identical.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>All %n recorded tensor(s) it was computed from agree.</source>
        <translation>
            <numerusform>The one recorded tensor it was computed from agrees.</numerusform>
            <numerusform>All %n recorded tensors it was computed from agree.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s) not observed</source>
        <translation>
            <numerusform>%n thing not observed</numerusform>
            <numerusform>%n things not observed</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) on one side only</source>
        <translation>
            <numerusform>%n tensor on one side only</numerusform>
            <numerusform>%n tensors on one side only</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n rank(s) did not end regularly</source>
        <translation>
            <numerusform>%n rank did not end regularly</numerusform>
            <numerusform>%n ranks did not end regularly</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n pair(s) could not be read</source>
        <translation>
            <numerusform>%n pair could not be read</numerusform>
            <numerusform>%n pairs could not be read</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) could not be read.</source>
        <translation>
            <numerusform>%n tensor could not be read.</numerusform>
            <numerusform>%n tensors could not be read.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) exist on one side only.</source>
        <translation>
            <numerusform>%n tensor exists on one side only.</numerusform>
            <numerusform>%n tensors exist on one side only.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>No tensor could be decided: %n exceed(s) the floor, but may have grown from rounding.</source>
        <translation>
            <numerusform>No tensor could be decided: %n exceeds the floor, but may have grown from rounding.</numerusform>
            <numerusform>No tensor could be decided: %n exceed the floor, but may have grown from rounding.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Weights, reduced gradients and optimizer are bit-identical in %n compared tensor(s).</source>
        <translation>
            <numerusform>Weights, reduced gradients and optimizer are bit-identical in the one compared tensor.</numerusform>
            <numerusform>Weights, reduced gradients and optimizer are bit-identical in all %n compared tensors.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Weights, reduced gradients and optimizer agree within rounding in %n compared tensor(s).</source>
        <translation>
            <numerusform>Weights, reduced gradients and optimizer agree within rounding in the one compared tensor.</numerusform>
            <numerusform>Weights, reduced gradients and optimizer agree within rounding in all %n compared tensors.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The runs are bit-identical in the %n tensor(s) that could be compared.</source>
        <translation>
            <numerusform>The runs are bit-identical in the one tensor that could be compared.</numerusform>
            <numerusform>The runs are bit-identical in the %n tensors that could be compared.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The runs agree within rounding in the %n tensor(s) that could be compared.</source>
        <translation>
            <numerusform>The runs agree within rounding in the one tensor that could be compared.</numerusform>
            <numerusform>The runs agree within rounding in the %n tensors that could be compared.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) in later steps exceed the floor, but may have grown from rounding.</source>
        <translation>
            <numerusform>%n tensor in later steps exceeds the floor, but may have grown from rounding.</numerusform>
            <numerusform>%n tensors in later steps exceed the floor, but may have grown from rounding.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n problem(s) in the bundles</source>
        <translation>
            <numerusform>%n problem in the bundles</numerusform>
            <numerusform>%n problems in the bundles</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n rank(s) not compared</source>
        <translation>
            <numerusform>%n rank not compared</numerusform>
            <numerusform>%n ranks not compared</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n step(s) on one side only</source>
        <translation>
            <numerusform>%n step on one side only</numerusform>
            <numerusform>%n steps on one side only</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n pair(s) with shapes that cannot be related</source>
        <translation>
            <numerusform>%n pair with shapes that cannot be related</numerusform>
            <numerusform>%n pairs with shapes that cannot be related</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::FindingsPanel</name>
    <message numerus="yes">
        <source>Not all of its inputs agree or were recorded. In agreement: %n</source>
        <translation>
            <numerusform>Not all of its inputs agree or were recorded. In agreement: %n</numerusform>
            <numerusform>Not all of its inputs agree or were recorded. In agreement: %n</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Its %n recorded input(s) agree:</source>
        <translation>
            <numerusform>Its one recorded input agrees:</numerusform>
            <numerusform>Its %n recorded inputs agree:</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::GraphView</name>
    <message numerus="yes">
        <source>%n producer(s)</source>
        <translation>
            <numerusform>%n producer</numerusform>
            <numerusform>%n producers</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n consumer(s)</source>
        <translation>
            <numerusform>%n consumer</numerusform>
            <numerusform>%n consumers</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::SeverityButton</name>
    <message numerus="yes">
        <source>%n pair(s). Click to list only these; several can be chosen.</source>
        <translation>
            <numerusform>%n pair. Click to list only these; several can be chosen.</numerusform>
            <numerusform>%n pairs. Click to list only these; several can be chosen.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::StatusLine</name>
    <message numerus="yes">
        <source>%n pair(s) compared</source>
        <translation>
            <numerusform>%n pair compared</numerusform>
            <numerusform>%n pairs compared</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 of %n pair(s) compared</source>
        <translation>
            <numerusform>%1 of %n pair compared</numerusform>
            <numerusform>%1 of %n pairs compared</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::VerdictBar</name>
    <message numerus="yes">
        <source>%1 of %n pair(s) compared.</source>
        <translation>
            <numerusform>%1 of %n pair compared.</numerusform>
            <numerusform>%1 of %n pairs compared.</numerusform>
        </translation>
    </message>
</context>
</TS>
